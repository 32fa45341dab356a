package screen

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Paint is the colours of a terminal. The zero value has none.
type Paint struct{ colours bool }

// NewPaint finds out what a terminal can show; NO_COLOR turns colours off.
func NewPaint(w io.Writer) Paint {
	return Paint{colours: colorprofile.Detect(w, os.Environ()) > colorprofile.ASCII}
}

// Colours reports whether there are any.
func (p Paint) Colours() bool { return p.colours }

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

// Text styles a safe text on one line.
func (p Paint) Text(style Style, text string) string {
	if s, ok := styles[style]; ok && p.colours && text != "" {
		return s.Styled(text)
	}
	return text
}

// Answers lists answers with their keys, the quiet ones by their keys alone if it is to be short.
func (p Paint) Answers(answers []Answer, between string, short bool) string {
	var labels []string
	for _, a := range answers {
		label := p.Text(Person, fmt.Sprintf("[%c]", a.Key))
		if !short || !a.Quiet {
			label += a.Word()[1:]
		}
		labels = append(labels, label)
	}
	return strings.Join(labels, between)
}
