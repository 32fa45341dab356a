// Package wrap breaks the lines of a text between words.
package wrap

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/hosttext"
)

// hangingIndent is the indent of a note's lines after the first.
const hangingIndent = "  "

// tabStop is how far the stops of tabs are apart, in columns.
const tabStop = 4

// Wrapper breaks lines between words, as the text arrives. A continued line has
// the indent of its first line.
type Wrapper struct {
	width  int    // of the screen; 0 leaves lines unchanged
	hang   string // the least indent of a continued line
	column int    // column of the next character
	start  int    // the column of the line's first word
	indent string
	gap    string // white space before the word
	word   strings.Builder
	midway bool // a piece of the word is shown: the rest must follow it
}

// New returns a wrapper for a text that begins in a column of the screen. Width 0 leaves
// lines unchanged.
func New(width, column int) Wrapper { return Wrapper{width: width, column: column} }

// Add returns the text to show: everything except an unfinished word.
func (w *Wrapper) Add(text string) string {
	if w.width <= 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			w.placeWord(&out)
			out.WriteByte('\n')
			w.column, w.start, w.indent, w.gap, w.midway = 0, 0, "", "", false
		case r == ' ' || r == '\t':
			w.placeWord(&out)
			w.midway = false
			n := 1
			if r == '\t' {
				n = tabStop - (w.column+len(w.gap))%tabStop
			}
			w.gap += strings.Repeat(" ", min(n, max(w.width/2-len(w.gap), 0)))
		default:
			w.word.WriteRune(r)
			if w.word.Len() >= 4*w.width { // show a very long word in pieces
				w.placeWord(&out)
				w.midway = true
			}
		}
	}
	return out.String()
}

// Flush returns the held back word.
func (w *Wrapper) Flush() string {
	var out strings.Builder
	w.placeWord(&out)
	return out.String()
}

func (w *Wrapper) placeWord(out *strings.Builder) {
	if w.word.Len() == 0 {
		return
	}
	word := w.word.String()
	w.word.Reset()
	if w.column == 0 {
		w.start, w.indent = len(w.gap), w.gap
		if len(w.indent) < len(w.hang) {
			w.indent = w.hang
		}
	}
	width := ansi.StringWidth(word)
	if !w.midway && w.column > w.start && w.column+len(w.gap)+width >= w.width {
		out.WriteString("\n" + w.indent)
		w.column, w.start, w.gap = len(w.indent), len(w.indent), ""
	}
	out.WriteString(w.gap)
	w.column += len(w.gap)
	w.gap = ""
	if w.hang != "" {
		w.breakWord(out, word)
		return
	}
	out.WriteString(word)
	if w.column += width; w.column > w.width { // the terminal breaks it
		w.column = (w.column-1)%w.width + 1
	}
}

// breakWord writes a word, and breaks a word longer than a line: if the terminal
// broke it, the rest would lose its indent.
func (w *Wrapper) breakWord(out *strings.Builder, word string) {
	for _, r := range word {
		width := ansi.StringWidth(string(r))
		if w.column+width >= w.width && w.column > len(w.indent) {
			out.WriteString("\n" + w.indent)
			w.column, w.start = len(w.indent), len(w.indent)
		}
		out.WriteRune(r)
		w.column += width
	}
}

// fold breaks the lines of a whole text, with a hanging indent.
func fold(text string, width int) string {
	w := Wrapper{width: width, hang: hangingIndent}
	return w.Add(text) + w.Flush()
}

// Note lays out a note. All lines except the first are indented: they may contain a
// server's text, which must not look like a line of the program.
func Note(text string, width int) []string {
	lines := strings.Split(hosttext.Exact(text), "\n")
	for i, line := range lines {
		if i > 0 && line != "" && !strings.HasPrefix(line, hangingIndent) {
			lines[i] = hangingIndent + line
		}
	}
	lines = strings.Split(fold(strings.Join(lines, "\n"), width), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}
