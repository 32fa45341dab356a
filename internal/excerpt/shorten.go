package excerpt

import (
	"fmt"
	"unicode/utf8"
)

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
