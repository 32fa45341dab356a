package screen

import (
	"fmt"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/diff"
)

// Line is a text with a style.
type Line struct {
	Style Style
	Text  string
}

// Bounds of a shown diff.
const (
	maxChanges      = 100 // lines
	maxChangesShort = 30  // lines, of a result
)

// DiffLines are the lines of a diff, each indented, at most so many characters.
func DiffLines(lines []diff.Line) []Line { return diffLines(lines, maxChanges) }

func diffLines(lines []diff.Line, most int) (shown []Line) {
	length := 0
	for i, line := range lines {
		text := Indent(line.Marked())
		if length += len(text); i >= most || length > MaxShown {
			return append(shown, Line{Faint, fmt.Sprintf("  (%s not shown)", moreLines(len(lines)-i))})
		}
		style := map[diff.Kind]Style{diff.Same: Plain, diff.Removed: Removed, diff.Added: Added, diff.Heading: Faint}[line.Kind]
		shown = append(shown, Line{style, text})
	}
	return shown
}

func moreLines(n int) string {
	if n == 1 {
		return "1 more line is"
	}
	return fmt.Sprintf("%d more lines are", n)
}

// ResultDiff are the lines of a tool's result that is a diff, nil for others.
func ResultDiff(e agent.Event) []Line {
	end, ok := e.(*agent.ToolEnd)
	if !ok || end.Result == nil || end.Result.IsError || len(end.Result.Text) > maxDiff {
		return nil
	}
	return diffLines(diff.Unified(end.Result.Text), maxChangesShort)
}

// maxDiff bounds a result that is read as a diff, in bytes.
const maxDiff = 256 << 10
