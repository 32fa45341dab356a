package terminal

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

// A text that is refused stays, with the reason below it. Esc leaves it only if there is a question to go back to.
func TestWritingThatDoesNotFit(t *testing.T) {
	for _, back := range []bool{true, false} {
		w := newTextDialog(screen.Paint{}, &screen.Draft{Prompt: "The arguments:", Text: "ab", Back: back, Check: func(text string) error {
			if text != "abc" {
				return errors.New("want abc\x1b[8m")
			}
			return nil
		}})
		w.init(40, 24)
		w.update(tea.KeyPressMsg{Code: tea.KeyEnter})
		view, cursor := w.view(40, true)
		lines := strings.Split(view, "\n")
		if last := lines[len(lines)-1]; w.answered() || last != `✗ want abc\x1b[8m` || cursor == nil || !strings.Contains(lines[cursor.Y], "ab") {
			t.Fatalf("got %q, with the cursor at %v, want the reason below the text", lines, cursor)
		}
		check.That(t, strings.Contains(view, "Esc") == back, "back %v: got %q", back, view)
		w.update(tea.KeyPressMsg{Code: tea.KeyEscape})
		check.That(t, w.wasLeft == back && w.answered() == back, "back %v: after Esc got left %v, over %v", back, w.wasLeft, w.answered())
		w.update(tea.KeyPressMsg{Code: 'c', Text: "c"})
		w.update(tea.KeyPressMsg{Code: tea.KeyEnter})
		check.That(t, w.answered() && w.input.Value() == "abc" != back, "back %v: got %q, over %v", back, w.input.Value(), w.answered())
	}
}

// Keys before a dialog takes them go to the editor, except at a secret.
func TestTypedBeforeTheQuestion(t *testing.T) {
	for want, d := range map[string]dialog{"": newSecretDialog(screen.Paint{}, "Key:"), "x": newTextDialog(screen.Paint{}, &screen.Draft{Prompt: "Reason:"})} {
		m := newModel(&Terminal{output: &output{}}, Options{})
		m.Init() // the editor has the keys
		m.update(askMsg{d})
		m.handleInput(tea.KeyPressMsg{Code: 'x', Text: "x"})
		check.Equal(t, d, m.editor.text(), want)
	}
}

// A name in a question cannot control the terminal.
func TestNamesInQuestions(t *testing.T) {
	const name = "x\x1b[8m\u202e"
	for what, d := range map[string]dialog{
		"choice": &choiceDialog{question: (&screen.Form{Server: name}).FinalChoice()},
		"text":   newTextDialog(screen.Paint{}, &screen.Draft{Prompt: name}),
		"secret": newSecretDialog(screen.Paint{}, name),
	} {
		d.init(80, 24)
		for _, ready := range []bool{false, true} {
			view, _ := d.view(80, ready)
			check.That(t, !strings.Contains(view, "\x1b[8m") && !strings.Contains(view, "\u202e") && strings.Contains(view, `x\x1b[8m\u202e`), "%s: got %q", what, view)
		}
	}
}

// Closing the terminal ends requests for completions.
func TestRequestsEnd(t *testing.T) {
	m := &Terminal{}
	m.ctx, m.cancel = context.WithCancel(t.Context())
	ended := false
	m.CompleteBy(func(ctx context.Context, _ string) screen.Completion {
		<-ctx.Done()
		ended = true
		return screen.Completion{}
	})
	(&menu{terminal: m}).complete("/to")
	m.cancel()
	m.goroutines.Wait()
	check.That(t, ended, "the request is still under way")
}

// Ctrl-C clears the field that has the keyboard, also if another one has the same text.
func TestClearOneOfTwoEqualFields(t *testing.T) {
	d := newFormDialog(&screen.Form{
		Fields: []*forms.Field{{Name: "from", Kind: forms.KindString}, {Name: "to", Kind: forms.KindString}},
		Values: map[string]any{"from": "Oslo", "to": "Oslo"},
	}, nil)
	d.init(80, 24)
	d.update(tea.KeyPressMsg{Code: tea.KeyEnter})
	check.Equal(t, "cleared", d.clear(), true)
	check.Equal(t, "from", d.inputs[0].text, "Oslo")
	check.Equal(t, "to", d.inputs[1].text, "")
}
