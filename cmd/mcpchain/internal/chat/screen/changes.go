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

// Changes are the lines of a diff, each indented, at most so many characters.
func Changes(lines []diff.Line) []Line { return changes(lines, maxChanges) }

func changes(lines []diff.Line, most int) (shown []Line) {
	length := 0
	for i, line := range lines {
		text := Indented(line.Marked())
		if length += len(text); i >= most || length > MaxShown {
			return append(shown, Line{Faint, fmt.Sprintf("  (%s not shown)", are(len(lines)-i))})
		}
		style := map[diff.Kind]Style{diff.Same: Plain, diff.Removed: Removed, diff.Added: Added, diff.Between: Faint}[line.Kind]
		shown = append(shown, Line{style, text})
	}
	return shown
}

func are(n int) string {
	if n == 1 {
		return "1 more line is"
	}
	return fmt.Sprintf("%d more lines are", n)
}

// Edited are the lines of a tool's result that is a diff, nil for others.
func Edited(e agent.Event) []Line {
	end, ok := e.(*agent.ToolEnd)
	if !ok || end.Result == nil || end.Result.IsError || len(end.Result.Text) > maxUnified {
		return nil
	}
	return changes(diff.Unified(end.Result.Text), maxChangesShort)
}

// maxUnified bounds a result that is read as a diff, in bytes.
const maxUnified = 256 << 10
