package adapter

import (
	"fmt"
	"unicode/utf8"
)

// minResult is the smallest bound of a result's text that leaves room for saying
// what was cut.
const minResult = 256

// shorten keeps the head and the tail of a text over limit bytes, three to one,
// and says in between how much is missing. The result is within limit.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	notice := func(missing int) string {
		return fmt.Sprintf("\n[… %d of %d bytes were cut here …]\n", missing, len(text))
	}
	room := limit - len(notice(len(text)))
	head := text[:boundary(text, room*3/4)]
	tail := text[boundaryAfter(text, len(text)-(room-len(head))):]
	return head + notice(len(text)-len(head)-len(tail)) + tail
}

// cut limits text to n bytes, the mark of the cut included.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:boundary(text, n-len("…"))] + "…"
}

// boundary is the last start of a rune at or before i.
func boundary(text string, i int) int {
	i = max(i, 0)
	for i > 0 && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// boundaryAfter is the first start of a rune at or after i.
func boundaryAfter(text string, i int) int {
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	return i
}
