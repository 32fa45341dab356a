// Package excerpt shows what a peer sent, within a bound.
package excerpt

import (
	"strconv"
	"strings"
)

// Max is the length of an excerpt in bytes.
const Max = 1 << 10

// Cut limits text of a peer to Max.
func Cut(s string) string {
	if len(s) <= Max {
		return s
	}
	return strings.ToValidUTF8(s[:Max], "") + "…"
}

// Quote shows bytes of a peer as a Go string literal of the first Max.
func Quote(b []byte) string {
	return strconv.Quote(Cut(string(b[:min(len(b), Max+1)])))
}
