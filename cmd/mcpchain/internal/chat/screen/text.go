package screen

import (
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/diff"
	"github.com/mcpchain/mcpchain/hosttext"
)

// functionKey matches an arrow or function key that a terminal sends as SS2 or SS3, which [ansi.Strip] leaves in part.
var functionKey = regexp.MustCompile("\x1b[NO].")

// CleanInput removes escape sequences and control characters from what a person typed: a terminal
// may have written out an arrow key. Line breaks and tabs stay. Bytes that are not UTF-8 become U+FFFD.
func CleanInput(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, ansi.Strip(functionKey.ReplaceAllString(strings.ToValidUTF8(text, "\ufffd"), "")))
}

// hangingIndent is the indent of a note's lines after the first.
const hangingIndent = "  "

// NoteLines escapes the text of a note and returns its lines, which leave the last of width columns free; 0 leaves
// lines unchanged. All but the first are indented: they may contain a server's text, which must not look like a line
// of the program.
func NoteLines(text string, width int) (lines []string) {
	for line := range strings.SplitSeq(strings.ReplaceAll(hosttext.Escape(text), "\t", "    "), "\n") {
		words := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(words)]
		if width > 0 {
			indent = indent[:min(len(indent), width/2)]
		}
		hanging := indent + strings.Repeat(" ", max(0, len(hangingIndent)-len(indent)))
		if len(lines) > 0 {
			indent = hanging
		}
		first, _, isLong := strings.Cut(wrapWords(words, width-1-len(indent)), "\n")
		lines = append(lines, strings.TrimRight(indent+first, " "))
		if !isLong {
			continue
		}
		rest := strings.TrimLeft(strings.TrimPrefix(words, first), " ")
		for piece := range strings.SplitSeq(wrapWords(rest, width-1-len(hanging)), "\n") {
			lines = append(lines, strings.TrimRight(hanging+piece, " "))
		}
	}
	return lines
}

// wrapWords is [ansi.Wrap] for an escaped text, and does not break words at hyphens, such as -base-url. A placeholder
// replaces the hyphens meanwhile, which an escaped text cannot have.
func wrapWords(text string, width int) string {
	const hyphen = "\ue000"
	wrapped := ansi.Wrap(strings.ReplaceAll(text, "-", hyphen), width, "")
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(wrapped, hyphen, "-"), "\n") {
		lines = append(lines, breakLine(line, width)...)
	}
	return strings.Join(lines, "\n")
}

// breakLine breaks a line whose characters take more columns one by one. Not each terminal joins them like [ansi.Wrap]:
// one that does not would break the line itself, and begin the next row with a server's text.
func breakLine(line string, width int) (lines []string) {
	start, columns := 0, 0
	for i, r := range line {
		if len(line) <= width || width < 1 { // no character takes more columns than bytes
			break
		}
		own := ansi.StringWidth(string(r))
		if r == '\ufe0f' {
			own = 1 // makes some characters wide
		}
		if columns += own; columns > width && i > start {
			lines = append(lines, line[start:i])
			start, columns = i, own
		}
	}
	return append(lines, line[start:])
}

// Cost formats amounts in millionths by currency, such as "0.12 USD". It returns "" for no amounts.
func Cost(amounts map[string]int64) string {
	var parts []string
	for _, currency := range slices.Sorted(maps.Keys(amounts)) {
		amount := float64(amounts[currency]) / 1e6
		switch {
		case amounts[currency] == 0:
			parts = append(parts, "0 "+currency)
		case amount < 0.01:
			parts = append(parts, fmt.Sprintf("%.2g %s", amount, currency))
		default:
			parts = append(parts, fmt.Sprintf("%.2f %s", amount, currency))
		}
	}
	return strings.Join(parts, " + ")
}

// Paint styles text for a terminal. The zero value uses no colours.
type Paint struct{ colours bool }

// NewPaint returns the paint for a terminal. It uses no colours if the terminal has none or NO_COLOR is set.
func NewPaint(w io.Writer) Paint {
	return Paint{colours: colorprofile.Detect(w, os.Environ()) > colorprofile.ASCII}
}

// Colours reports whether p uses colours.
func (p Paint) Colours() bool { return p.colours }

// styles has the styles with colours. Plain has none.
var styles = map[Style]ansi.Style{
	Person: ansi.NewStyle().Bold().ForegroundColor(ansi.Cyan),
	Model:  ansi.NewStyle().Bold().ForegroundColor(ansi.Green),
	Tool:   ansi.NewStyle().ForegroundColor(ansi.Blue),
	Faint:  ansi.NewStyle().Faint(),
	Warn:   ansi.NewStyle().ForegroundColor(ansi.Yellow),
	Fail:   ansi.NewStyle().Bold().ForegroundColor(ansi.Red),

	Removed: ansi.NewStyle().ForegroundColor(ansi.Red),
	Added:   ansi.NewStyle().ForegroundColor(ansi.Green),
}

// Text styles a line, which must not have control characters.
func (p Paint) Text(style Style, text string) string {
	if s, ok := styles[style]; ok && p.colours && text != "" {
		return s.Styled(text)
	}
	return text
}

// Answers lists answers with their keys, such as [y]es.
func (p Paint) Answers(answers []Answer, separator string) string {
	var labels []string
	for _, a := range answers {
		labels = append(labels, p.Text(Person, fmt.Sprintf("[%c]", a.Key))+a.Word()[1:])
	}
	return strings.Join(labels, separator)
}

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
		text := "  " + strings.ReplaceAll(line.Marked(), "\t", "    ") // a peer's text differs from the program's own lines
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
