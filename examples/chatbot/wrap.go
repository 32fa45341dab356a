package main

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// wrapper breaks lines between words, as the text comes. A line that goes on
// begins with the white space that its first one began with.
type wrapper struct {
	width  int // of the screen; 0 leaves lines as they are
	column int // where the next character goes
	indent string
	gap    string // white space before the word
	word   strings.Builder
	midway bool // a piece of the word is shown already: the rest must follow it
}

// add returns what can be shown by now: everything but a word that may go on.
func (w *wrapper) add(text string) string {
	if w.width <= 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			w.place(&out)
			out.WriteByte('\n')
			w.column, w.indent, w.gap, w.midway = 0, "", "", false
		case r == ' ' || r == '\t':
			w.place(&out)
			w.midway = false
			if len(w.gap) < w.width/2 {
				w.gap += " "
			}
		default:
			w.word.WriteRune(r)
			if w.word.Len() >= 4*w.width { // it must not be held back for ever
				w.place(&out)
				w.midway = true
			}
		}
	}
	return out.String()
}

// flush returns the word that was held back.
func (w *wrapper) flush() string {
	var out strings.Builder
	w.place(&out)
	return out.String()
}

func (w *wrapper) place(out *strings.Builder) {
	if w.word.Len() == 0 {
		return
	}
	word := w.word.String()
	w.word.Reset()
	if w.column == 0 {
		w.indent = w.gap
	}
	width := lipgloss.Width(word)
	if !w.midway && w.column > len(w.indent) && w.column+len(w.gap)+width >= w.width {
		out.WriteString("\n" + w.indent)
		w.column, w.gap = len(w.indent), ""
	}
	out.WriteString(w.gap + word)
	w.column = (w.column + len(w.gap) + width) % w.width
	w.gap = ""
}

// wrap breaks the lines of a whole text.
func wrap(text string, width int) string {
	w := wrapper{width: width}
	return w.add(text) + w.flush()
}
