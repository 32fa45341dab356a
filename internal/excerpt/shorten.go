package excerpt

import (
	"fmt"
	"unicode/utf8"
)

// Shorten keeps the head and the tail of a text over limit bytes, three to one, with the words of notice in between, a
// function of the start and the size of the cut. Without one they say how much is missing. The result is within limit, if
// the words are.
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
	head := text[:Before(text, room*3/4)]
	tail := text[After(text, len(text)-(room-len(head))):]
	return head + notice(len(head), len(text)-len(head)-len(tail)) + tail
}

// Before is the last start of a rune at or before i.
func Before(text string, i int) int {
	i = min(max(i, 0), len(text))
	for i > 0 && i < len(text) && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// After is the first start of a rune at or after i.
func After(text string, i int) int {
	i = min(max(i, 0), len(text))
	for i < len(text) && !utf8.RuneStart(text[i]) {
		i++
	}
	return i
}
