// Package excerpt shows what a peer sent, within a bound.
package excerpt

import (
	"strconv"
	"strings"
)

// Max is the length of an excerpt in bytes.
const Max = 1 << 10

// Cut limits text of a peer to Max.
func Cut(s string) string { return CutAt(s, Max) }

// CutAt limits text of a peer to n bytes, the mark of the cut not included.
func CutAt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Quote shows bytes of a peer as a Go string literal of the first Max.
func Quote(b []byte) string {
	return strconv.Quote(Cut(string(b[:min(len(b), Max+1)])))
}
