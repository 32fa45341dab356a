// Package diff shows line by line what the edit of a tool call changes.
package diff

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Kind is the kind of a line of a diff.
type Kind int

// The kinds of lines.
const (
	Same Kind = iota
	Removed
	Added
	Heading // not a line of either text
)

// Line is a line of a diff.
type Line struct {
	Kind Kind
	Text string
}

// contextLines is the number of unchanged lines that are shown before and after a change.
const contextLines = 3

// Lines compares two texts. Unchanged lines far from a change are replaced by an ellipsis. Equal
// texts give a heading that says so.
func Lines(before, after string) []Line {
	a, b := splitLines(before), splitLines(after)
	var lines []Line
	at := 0
	// DiffLines bounds its effort: the diff of very different large texts is not minimal.
	for _, d := range lcs.DiffLines(a, b) {
		lines = append(lines, newLines(Same, a[at:d.Start])...)
		lines = append(lines, newLines(Removed, a[d.Start:d.End])...)
		lines = append(lines, newLines(Added, b[d.ReplStart:d.ReplEnd])...)
		at = d.End
	}
	lines = append(lines, newLines(Same, a[at:])...)
	if !slices.ContainsFunc(lines, isChange) {
		return []Line{{Heading, "(nothing changes)"}}
	}
	return elide(lines)
}

// isChange reports whether a line is in one of the texts only.
func isChange(l Line) bool { return l.Kind != Same }

// splitLines returns the lines of a text. An empty text has none.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// newLines returns lines of one kind.
func newLines(kind Kind, texts []string) (lines []Line) {
	for _, text := range texts {
		lines = append(lines, Line{kind, text})
	}
	return lines
}

// elide replaces unchanged lines that are far from a change by an ellipsis.
func elide(lines []Line) (shown []Line) {
	omitted := false
	for i, line := range lines {
		around := lines[max(0, i-contextLines):min(len(lines), i+contextLines+1)]
		if !slices.ContainsFunc(around, isChange) {
			omitted = true
			continue
		}
		if omitted {
			shown = append(shown, Line{Heading, "…"})
			omitted = false
		}
		shown = append(shown, line)
	}
	if omitted {
		shown = append(shown, Line{Heading, "…"})
	}
	return shown
}

// Marked returns the line with the mark that it has in a unified diff.
func (l Line) Marked() string {
	switch l.Kind {
	case Removed:
		return "- " + l.Text
	case Added:
		return "+ " + l.Text
	case Heading:
		return l.Text
	}
	return "  " + l.Text
}
