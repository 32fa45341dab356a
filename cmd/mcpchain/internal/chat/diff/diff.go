// Package diff shows line by line what the edit of a tool call changes.
package diff

import (
	"slices"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Kind is the kind of a line of a diff.
type Kind int

// The kinds of lines.
const (
	Same Kind = iota
	Removed
	Added
	Heading // not a line of either text, such as the header of a hunk
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
	a, b := split(before), split(after)
	var lines []Line
	at := 0
	for _, d := range lcs.DiffLines(a, b) { // bounds its effort: the diff of very different large texts is not minimal
		lines = append(lines, linesOf(Same, a[at:d.Start])...)
		lines = append(lines, linesOf(Removed, a[d.Start:d.End])...)
		lines = append(lines, linesOf(Added, b[d.ReplStart:d.ReplEnd])...)
		at = d.End
	}
	lines = append(lines, linesOf(Same, a[at:])...)
	if !slices.ContainsFunc(lines, changed) {
		return []Line{{Heading, "(nothing changes)"}}
	}
	return elide(markBlanks(lines))
}

func changed(l Line) bool { return l.Kind != Same }

// split returns the lines of a text. An empty text has none.
func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func linesOf(kind Kind, texts []string) (lines []Line) {
	for _, text := range texts {
		lines = append(lines, Line{kind, text})
	}
	return lines
}

var marks = strings.NewReplacer(" ", "·", "\t", "→\t")

// markBlanks makes blanks visible in changes of blanks only.
func markBlanks(lines []Line) []Line {
	for from := 0; from < len(lines); from++ {
		to := from
		var old, new strings.Builder
		for ; to < len(lines) && lines[to].Kind != Same; to++ {
			if lines[to].Kind == Removed {
				old.WriteString(lines[to].Text)
			} else {
				new.WriteString(lines[to].Text)
			}
		}
		if to > from && withoutBlanks(old.String()) == withoutBlanks(new.String()) {
			for i := range lines[from:to] {
				lines[from+i].Text = marks.Replace(lines[from+i].Text)
			}
		}
		from = to
	}
	return lines
}

func withoutBlanks(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// elide replaces unchanged lines that are far from a change by an ellipsis.
func elide(lines []Line) (shown []Line) {
	omitted := false
	for i, line := range lines {
		if line.Kind == Same && !slices.ContainsFunc(lines[max(0, i-contextLines):min(len(lines), i+contextLines+1)], changed) {
			omitted = true
			continue
		}
		if omitted {
			shown, omitted = append(shown, Line{Heading, "…"}), false
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
