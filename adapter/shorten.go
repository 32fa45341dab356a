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
	return Shorten(text, limit, nil)
}

// Shorten keeps the head and the tail of a text over limit bytes, three to one, with the words of notice in between, a
// function of the start and the size of the cut. Without one they say how much is missing. The result is within limit.
func Shorten(text string, limit int, notice func(from, missing int) string) string {
	if len(text) <= limit {
		return text
	}
	if notice == nil {
		notice = func(_, missing int) string {
			return fmt.Sprintf("\n[… %d of %d bytes were cut here …]\n", missing, len(text))
		}
	}
	room := max(limit-len(notice(len(text), len(text))), 0)
	head := text[:boundary(text, room*3/4)]
	tail := text[boundaryAfter(text, len(text)-(room-len(head))):]
	return head + notice(len(head), len(text)-len(head)-len(tail)) + tail
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
	i = min(max(i, 0), len(text))
	for i > 0 && i < len(text) && !utf8.RuneStart(text[i]) {
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
