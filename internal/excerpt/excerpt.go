// Package excerpt shortens text of peers to a bound.
package excerpt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Max is the length of an excerpt, in bytes.
const Max = 1 << 10

// Cut limits text to Max bytes, see [CutAt].
func Cut(s string) string { return CutAt(s, Max) }

// CutAt limits text to n bytes, and adds an ellipsis if it cut something.
func CutAt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Limit limits text to n bytes, including an ellipsis if it cut something. n is at least 3.
func Limit(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:Before(text, n-len("…"))] + "…"
}

// Quote returns the first Max bytes of b as a Go string literal.
func Quote(b []byte) string {
	return strconv.Quote(Cut(string(b[:min(len(b), Max+1)])))
}

// Plain returns a text with uniform line ends and without invisible characters, for a model.
func Plain(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text))
}

// Line returns a [Plain] text on one line, cut to n bytes by [CutAt]. It reads at most four times as
// many, because spaces may be left out.
func Line(text string, n int) string {
	words := strings.Fields(Plain(CutAt(text, 4*n)))
	return CutAt(strings.Join(words, " "), n)
}

// Bounds of the indentation that Indent adds to a text, in bytes.
const (
	smallIndentation = 4 << 10 // for every text
	indentationShare = 4       // times the length of the text
)

// Indent returns JSON indented for a person. ok is false for a text that is not JSON, or that would be
// mostly indentation.
func Indent(text string) (indented string, ok bool) {
	var b bytes.Buffer
	if indentation(text) > max(smallIndentation, indentationShare*len(text)) || json.Indent(&b, []byte(text), "", "  ") != nil {
		return "", false
	}
	return b.String(), true
}

// indentation returns how many bytes of indentation a JSON text would get.
func indentation(text string) int {
	total, depth, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			total += 2 * depth
		case c == ']' || c == '}':
			depth = max(0, depth-1)
			total += 2 * depth
		case c == ',':
			total += 2 * depth
		}
	}
	return total
}

// Shorten cuts text to limit bytes. It keeps three quarters of the room for the head and one
// quarter for the tail, and puts notice(from, missing) between them: the offset and the size of the
// cut. A nil notice says how many bytes are missing. If limit has no room for the notice, Shorten
// keeps only a head.
func Shorten(text string, limit int, notice func(from, missing int) string) string {
	if len(text) <= limit {
		return text
	}
	if notice == nil {
		notice = func(_, missing int) string {
			return fmt.Sprintf("\n[… %d of %d bytes were cut here …]\n", missing, len(text))
		}
	}
	room := limit - len(notice(len(text), len(text)))
	if room < 0 {
		return text[:Before(text, limit)]
	}
	head := text[:Before(text, room*3/4)]
	tail := text[After(text, len(text)-(room-len(head))):]
	return head + notice(len(head), len(text)-len(head)-len(tail)) + tail
}

// Before returns the offset of the last rune of text that starts at or before i.
func Before(text string, i int) int {
	i = min(max(i, 0), len(text))
	for i > 0 && i < len(text) && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// After returns the offset of the first rune of text that starts at or after i.
func After(text string, i int) int {
	i = min(max(i, 0), len(text))
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	return i
}
