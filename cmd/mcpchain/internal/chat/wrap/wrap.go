// Package wrap breaks the lines of a text between words. Unlike [ansi.Wrap] it takes a text in
// pieces, keeps the indent of a line, and does not break words at hyphens.
package wrap

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/hosttext"
)

// hangingIndent is the indent of a note's lines after the first.
const hangingIndent = "  "

// tabStop is the distance of tab stops in columns.
const tabStop = 4

// Wrapper breaks the lines of a text that arrives in pieces. A continued line has the indent of its
// first line.
type Wrapper struct {
	width     int    // of the screen; 0 leaves lines unchanged
	minIndent string // minimum indent of a continued line; unless it is "", long words are broken, too
	column    int    // of the next character
	start     int    // column of the line's first word
	indent    string // of the line
	gap       string // white space before the pending word
	word      strings.Builder
	inWord    bool // a part of the word was written, so the rest follows it
}

// New returns a wrapper for a text that begins in a column of a screen. A width of 0 leaves lines
// unchanged.
func New(width, column int) Wrapper { return Wrapper{width: width, column: column} }

// Add adds a piece of the text, and returns what can be shown: all but an unfinished word.
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
			w.column, w.start, w.indent, w.gap, w.inWord = 0, 0, "", "", false
		case r == ' ' || r == '\t':
			w.placeWord(&out)
			w.inWord = false
			n := 1
			if r == '\t' {
				n = tabStop - (w.column+len(w.gap))%tabStop
			}
			w.gap += strings.Repeat(" ", min(n, max(w.width/2-len(w.gap), 0)))
		default:
			w.word.WriteRune(r)
			if w.word.Len() >= 4*w.width { // a very long word is shown in parts
				w.placeWord(&out)
				w.inWord = true
			}
		}
	}
	return out.String()
}

// Flush returns the unfinished word.
func (w *Wrapper) Flush() string {
	var out strings.Builder
	w.placeWord(&out)
	return out.String()
}

// placeWord writes the pending word, on a new line if it does not fit on this one.
func (w *Wrapper) placeWord(out *strings.Builder) {
	if w.word.Len() == 0 {
		return
	}
	word := w.word.String()
	w.word.Reset()
	if w.column == 0 {
		w.start, w.indent = len(w.gap), w.gap
		if len(w.indent) < len(w.minIndent) {
			w.indent = w.minIndent
		}
	}
	width := ansi.StringWidth(word)
	if !w.inWord && w.column > w.start && w.column+len(w.gap)+width >= w.width {
		out.WriteString("\n" + w.indent)
		w.column, w.start, w.gap = len(w.indent), len(w.indent), ""
	}
	out.WriteString(w.gap)
	w.column += len(w.gap)
	w.gap = ""
	if w.minIndent != "" {
		w.breakWord(out, word)
		return
	}
	out.WriteString(word)
	if w.column += width; w.column > w.width { // the terminal breaks it
		w.column = (w.column-1)%w.width + 1
	}
}

// breakWord writes a word in pieces that fit on a line: if the terminal broke it, the rest would
// have no indent.
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

// fold breaks the lines of a text, with a hanging indent.
func fold(text string, width int) string {
	w := Wrapper{width: width, minIndent: hangingIndent}
	return w.Add(text) + w.Flush()
}

// Note escapes the text of a note and returns its lines. All but the first are indented: they may
// contain a server's text, which must not look like a line of the program.
func Note(text string, width int) []string {
	lines := strings.Split(hosttext.Escape(text), "\n")
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
