package screen

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Paint styles text for a terminal. The zero value uses no colours.
type Paint struct{ colours bool }

// NewPaint returns the paint for a terminal. It uses no colours if the terminal has none or
// NO_COLOR is set.
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
