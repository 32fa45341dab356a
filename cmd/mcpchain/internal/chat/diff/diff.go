// Package diff says line by line what an edit changes.
package diff

import (
	"slices"
	"strings"
	"unicode"
)

// Kind is what becomes of a line.
type Kind int

// The kinds of lines.
const (
	Same Kind = iota
	Removed
	Added
	Between // it is about lines
)

// Line is a line of an edit.
type Line struct {
	Kind Kind
	Text string
}

const (
	around   = 3       // unchanged lines that are shown before and after a change
	maxTable = 1 << 20 // cells; larger texts are compared as wholes
)

// Lines compares two texts. Unchanged lines far from a change are left out.
func Lines(before, after string) []Line {
	a, b := split(before), split(after)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	lines := as(Same, a[:head])
	lines = append(lines, changes(a[head:len(a)-tail], b[head:len(b)-tail])...)
	lines = append(lines, as(Same, a[len(a)-tail:])...)
	if !slices.ContainsFunc(lines, changed) {
		return []Line{{Between, "(nothing changes)"}}
	}
	return shorten(reveal(lines))
}

func changed(l Line) bool { return l.Kind != Same }

// split returns the lines of a text. An empty text has none.
func split(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	last := len(lines) - 1
	if lines[last] == "" {
		lines = lines[:last]
	}
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\n")
	}
	return lines
}

func as(kind Kind, texts []string) (lines []Line) {
	for _, text := range texts {
		lines = append(lines, Line{kind, text})
	}
	return lines
}

// changes keeps the longest common sequence of lines.
func changes(a, b []string) (lines []Line) {
	if len(a)*len(b) > maxTable {
		return append(as(Removed, a), as(Added, b)...)
	}
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width) // of the rest of a and the rest of b
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			lines = append(lines, Line{Same, a[i]})
			i, j = i+1, j+1
		case common[(i+1)*width+j] >= common[i*width+j+1]:
			lines = append(lines, Line{Removed, a[i]})
			i++
		default:
			lines = append(lines, Line{Added, b[j]})
			j++
		}
	}
	return append(append(lines, as(Removed, a[i:])...), as(Added, b[j:])...)
}

var marks = strings.NewReplacer(" ", "·", "\t", "→\t")

// reveal marks the blanks of lines that change in nothing else.
func reveal(lines []Line) []Line {
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

// shorten leaves out what is far from a change.
func shorten(lines []Line) (shown []Line) {
	omitted := false
	for i, line := range lines {
		if line.Kind == Same && !slices.ContainsFunc(lines[max(0, i-around):min(len(lines), i+around+1)], changed) {
			omitted = true
			continue
		}
		if omitted {
			shown, omitted = append(shown, Line{Between, "…"}), false
		}
		shown = append(shown, line)
	}
	if omitted {
		shown = append(shown, Line{Between, "…"})
	}
	return shown
}

// Marked is a line with its mark, as unified diffs have it.
func (l Line) Marked() string {
	switch l.Kind {
	case Removed:
		return "- " + l.Text
	case Added:
		return "+ " + l.Text
	case Between:
		return l.Text
	}
	return "  " + l.Text
}
