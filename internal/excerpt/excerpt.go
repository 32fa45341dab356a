// Package excerpt shortens text of peers to a bound.
package excerpt

import (
	"strconv"
	"strings"
	"unicode"
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
