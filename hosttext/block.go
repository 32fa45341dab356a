package hosttext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxLines bounds the lines of a [Block], so that it cannot push earlier lines off the screen.
const maxLines = 100

// Block is like [Escape], for a text of several lines. It indents each line by two
// spaces, shows at most n characters and 100 lines, and says how much is omitted.
func Block(s string, n int) string {
	var b strings.Builder
	s = strings.Trim(s, " \n\t")
	length, lines, more := 0, 1, 0
	for r, piece := range pieces(s) {
		if r == '\n' {
			lines++
		}
		if length += utf8.RuneCountInString(piece); more > 0 || length > n || lines > maxLines {
			more++
			continue
		}
		b.WriteString(piece)
	}
	if more > 0 {
		fmt.Fprintf(&b, "…\n(%s not shown)", characters(more))
	}
	return Indent(b.String())
}

// Indent puts two spaces before each line that is not empty.
func Indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if line != "\n" {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	return b.String()
}

func characters(n int) string {
	if n == 1 {
		return "1 more character is"
	}
	return fmt.Sprintf("%d more characters are", n)
}
