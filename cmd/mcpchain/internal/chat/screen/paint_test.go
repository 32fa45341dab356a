package screen

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// The answers to a question look the same with and without colours.
func TestAnswers(t *testing.T) {
	answers := []Answer{{Key: 'y', Label: "yes: it"}, {Key: 'e', Label: "edit: it", Quiet: true}, {Key: '?', Label: "?"}}
	for want, short := range map[string]bool{"[y]es, [e]dit, [?]": false, "[y]es, [e], [?]": true} {
		if got := (Paint{}).Answers(answers, ", ", short); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		got := Paint{colours: true}.Answers(answers, ", ", short)
		if ansi.Strip(got) != want || !strings.HasPrefix(got, "\x1b[") || !strings.Contains(got, "mes, \x1b[") {
			t.Errorf("got %q, want %q with coloured keys", got, want)
		}
	}
}
