// Package kept lets a model read results that are too long for it, and pass them on.
package kept

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Reader is the name of the tool by which a model reads stored results, and Description its description.
const (
	Reader      = "read_result"
	Description = "Reads in a result of a tool that was shortened: from a byte or a line, the matches of a pattern, or a value of JSON."
)

// Shorten shortens a result to limit bytes. Between beginning and end it explains how to read the rest of the result with
// that handle, by the tool that the model knows as reader. kind and shape describe the full result, if they are not empty.
func Shorten(text string, limit int, reader, handle, kind, shape string) string {
	description := ""
	if kind != "" {
		description = "; the whole is " + kind + ": " + shape
	}
	return excerpt.Shorten(text, limit, func(from, missing int) string {
		return fmt.Sprintf("\n[… %d of %d bytes were cut here; call %s with {\"handle\":%q,\"offset\":%d} to read them%s …]\n",
			missing, len(text), reader, handle, from, description)
	})
}

// The kinds of results.
const (
	JSON = "json"
	Text = "text"
)

// lenient accepts JSON with duplicate names and invalid UTF-8, as others may send.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Describe returns the kind of a result, and the shape of its top level in at most 300 bytes.
func Describe(data []byte) (kind, shape string) {
	first := bytes.TrimLeft(data, " \t\r\n")
	if len(first) == 0 || first[0] != '{' && first[0] != '[' || !jsontext.Value(data).IsValid(lenient...) {
		return Text, strconv.Itoa(bytes.Count(data, []byte{'\n'})+1) + " lines"
	}
	return JSON, describeShape(data)
}

const (
	maxShape     = 300 // bytes
	roomForCount = 30  // bytes of maxShape for the number of all members
	maxMembers   = 12  // members of an object that are named
	maxName      = 40  // bytes of a name that are shown
)

// describeShape describes the top level of valid JSON, as in {"items":[900 objects],"next":string}. Of an object with more
// or longer members than it shows, it gives their number. It returns "" for data that cannot be read.
func describeShape(data []byte) string {
	d := jsontext.NewDecoder(bytes.NewReader(data), lenient...)
	if d.PeekKind() == '[' {
		return valueShape(d)
	}
	if _, err := d.ReadToken(); err != nil {
		return ""
	}
	var b strings.Builder
	all, shown := 0, 0
	for ; d.PeekKind() != '}'; all++ {
		name, err := d.ReadToken()
		if err != nil {
			return ""
		}
		key := strconv.QuoteToASCII(cut(name.String(), maxName))
		value := valueShape(d)
		if all < maxMembers && b.Len()+len(key)+len(value) < maxShape-roomForCount {
			if shown > 0 {
				b.WriteByte(',')
			}
			b.WriteString(key + ":" + value)
			shown++
		}
	}
	if shown < all {
		return fmt.Sprintf("{%s, %d members in all}", b.String(), all)
	}
	return "{" + b.String() + "}"
}

// kinds names the kinds of values but lists.
var kinds = map[jsontext.Kind]string{'"': "string", '0': "number", 't': "boolean", 'f': "boolean", '{': "object", 'n': "null"}

// valueShape reads the next value and describes it: a list by its length and the kind of its first
// value. It returns "" for a value that cannot be read.
func valueShape(d *jsontext.Decoder) string {
	kind := d.PeekKind()
	if kind == '[' {
		return listShape(d)
	}
	if d.SkipValue() != nil {
		return ""
	}
	return kinds[kind]
}

func listShape(d *jsontext.Decoder) string {
	_, _ = d.ReadToken() // its beginning
	kind, n := "values", 0
	if first := d.PeekKind(); first == '{' || first == '"' {
		kind = kinds[first] + "s"
	}
	for ; d.PeekKind() != ']'; n++ {
		if d.SkipValue() != nil {
			return ""
		}
	}
	_, _ = d.ReadToken() // its end
	return fmt.Sprintf("[%d %s]", n, kind)
}

func cut(text string, limit int) string { return text[:excerpt.Before(text, limit)] }
