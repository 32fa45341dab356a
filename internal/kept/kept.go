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

// Reader is the name of the tool by which a model reads stored results, and Description its
// description.
const (
	Reader      = "read_result"
	Description = "Reads in a result of a tool that was shortened: from a byte or a line, the matches of a pattern, or a value of JSON."
)

// Shorten shortens a result to limit bytes. Between beginning and end it says how to read the
// rest, by the tool that the model knows as reader. kind and shape describe the full result, if
// they are not empty.
func Shorten(text string, limit int, reader, handle, kind, shape string) string {
	whole := ""
	if kind != "" {
		whole = "; the whole is " + kind + ": " + shape
	}
	return excerpt.Shorten(text, limit, func(from, missing int) string {
		return fmt.Sprintf("\n[… %d of %d bytes were cut here; call %s with {\"handle\":%q,\"offset\":%d} to read them%s …]\n",
			missing, len(text), reader, handle, from, whole)
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
	return JSON, shapeOf(data)
}

const (
	maxShape   = 300
	maxMembers = 12
)

// shapeOf describes the top level of valid JSON, as in {"items":[900 objects],"next":string}.
func shapeOf(data []byte) string {
	d := jsontext.NewDecoder(bytes.NewReader(data), lenient...)
	if d.PeekKind() == '[' {
		return valueShape(d)
	}
	if _, err := d.ReadToken(); err != nil {
		return ""
	}
	var b strings.Builder
	n := 0
	for ; d.PeekKind() != '}'; n++ {
		name, err := d.ReadToken()
		if err != nil {
			return ""
		}
		key := strconv.QuoteToASCII(short(name.String(), 40))
		value := valueShape(d)
		if n < maxMembers && b.Len()+len(key)+len(value) < maxShape-30 {
			if n > 0 {
				b.WriteByte(',')
			}
			b.WriteString(key + ":" + value)
		}
	}
	if shown := strings.Count(b.String(), `":`); shown < n {
		return fmt.Sprintf("{%s, %d members in all}", b.String(), n)
	}
	return "{" + b.String() + "}"
}

// valueShape reads the next value and describes it.
func valueShape(d *jsontext.Decoder) string {
	switch d.PeekKind() {
	case '"':
		return skipped(d, "string")
	case '0':
		return skipped(d, "number")
	case 't', 'f':
		return skipped(d, "boolean")
	case '{':
		return skipped(d, "object")
	case '[':
		n, of := 0, "values"
		if _, err := d.ReadToken(); err != nil {
			return ""
		}
		for ; d.PeekKind() != ']'; n++ {
			if k := d.PeekKind(); n == 0 && k == '{' {
				of = "objects"
			} else if n == 0 && k == '"' {
				of = "strings"
			} else if k == 0 {
				return ""
			}
			if d.SkipValue() != nil {
				return ""
			}
		}
		_, _ = d.ReadToken() // the end of the value
		return fmt.Sprintf("[%d %s]", n, of)
	}
	return skipped(d, "null")
}

func skipped(d *jsontext.Decoder, kind string) string {
	if d.SkipValue() != nil {
		return ""
	}
	return kind
}

func short(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:excerpt.Before(text, n)]
}
