package screen

import (
	"fmt"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/diff"
)

// Line is a text with its style.
type Line struct {
	Style    Style
	Text     string
	Unbroken bool // one line without control characters that must not be wrapped, so that it can be copied
}

// Bounds of a shown diff.
const (
	maxDiffLines       = 100       // in a question
	maxResultDiffLines = 30        // in a result
	maxDiff            = 256 << 10 // bytes of a result that is parsed as a diff
)

// DiffLines returns the lines of a diff to show in a question. A long diff is cut, with a note.
func DiffLines(lines []diff.Line) []Line { return diffLines(lines, maxDiffLines) }

// diffStyles are the styles of the lines of a diff.
var diffStyles = map[diff.Kind]Style{diff.Same: Plain, diff.Removed: Removed, diff.Added: Added, diff.Heading: Faint}

// diffLines returns at most so many lines, and at most MaxShown bytes.
func diffLines(lines []diff.Line, most int) (shown []Line) {
	length := 0
	for i, line := range lines {
		text := Indent(line.Marked())
		length += len(text)
		if i >= most || length > MaxShown {
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

// ResultDiff returns the lines of a tool's result that is a unified diff, nil for other results,
// long ones and other events.
func ResultDiff(e agent.Event) []Line {
	end, ok := e.(*agent.ToolEnd)
	if !ok || end.Result.IsError || len(end.Result.Text) > maxDiff {
		return nil
	}
	return diffLines(diff.Unified(end.Result.Text), maxResultDiffLines)
}
