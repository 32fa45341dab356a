// Package excerpt shortens text of peers to a bound.
package excerpt

import (
	"strconv"
	"strings"
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
