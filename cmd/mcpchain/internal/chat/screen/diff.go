package screen

import (
	"fmt"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/diff"
)

// Line is a text with its style.
type Line struct {
	Style    Style
	Text     string
	Unbroken bool // one line without control characters that must not be wrapped, so that it can be copied
}

// maxDiffLines bounds a shown diff.
const maxDiffLines = 100

// diffStyles are the styles of the lines of a diff.
var diffStyles = map[diff.Kind]Style{diff.Same: Plain, diff.Removed: Removed, diff.Added: Added, diff.Heading: Faint}

// DiffLines returns the lines of a diff to show: at most maxDiffLines, and at most MaxShown bytes. A long diff is cut,
// with a note.
func DiffLines(lines []diff.Line) (shown []Line) {
	length := 0
	for i, line := range lines {
		text := Indent(line.Marked())
		length += len(text)
		if i >= maxDiffLines || length > MaxShown {
			note := fmt.Sprintf("  (%s not shown)", moreLines(len(lines)-i))
			return append(shown, Line{Style: Faint, Text: note})
		}
		shown = append(shown, Line{Style: diffStyles[line.Kind], Text: text})
	}
	return shown
}

// moreLines returns a count of lines with its verb.
func moreLines(n int) string {
	if n == 1 {
		return "1 more line is"
	}
	return fmt.Sprintf("%d more lines are", n)
}
