package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

// The note about an editor that cannot be started is not lost by another note.
func TestEditorThatDoesNotStart(t *testing.T) {
	m := newModel(&Terminal{output: &output{}}, Options{})
	cmd := m.update(editedMsg{err: errors.New("executable file not found")})
	check.Require(t, cmd != nil, "nothing is printed")
	check.Contains(t, "what was printed", fmt.Sprint(cmd()), "nothing was written: executable file not found; $EDITOR names the editor")
}

// Replacing the text closes the list of completions for the old text.
func TestTextUnderTheList(t *testing.T) {
	for name, replace := range map[string]tea.Msg{
		"the history": tea.KeyPressMsg{Code: 'p', Mod: tea.ModCtrl},
		"an editor":   editedMsg{text: "hi\n"},
	} {
		m := &Terminal{ctx: t.Context()}
		m.CompleteBy(func(context.Context, string) screen.Completion {
			return screen.Completion{From: len("/read "), Items: []screen.Item{{Text: "a:1"}, {Text: "a:2"}}}
		})
		e := newEditor(m, "")
		e.init()
		e.resize(80)
		e.history.add("hi")
		e.area.SetValue("/read a")
		e.update(e.update(tea.KeyPressMsg{Code: tea.KeyTab})())
		check.Require(t, e.hasPopup(), "%s: got no list", name)
		e.update(replace)
		check.That(t, !e.hasPopup() && e.text() == "hi", "%s: got %q, with the list: %v", name, e.text(), e.hasPopup())
	}
}

// The arrow keys first move through the lines of a draft, and only then through the history.
func TestHistoryAroundADraftOfSeveralLines(t *testing.T) {
	e := newEditor(&Terminal{ctx: t.Context()}, "")
	e.init()
	e.resize(80)
	e.history.add("old")
	e.history.add("new")
	e.area.SetValue("one\ntwo\nthree")
	up, down := tea.KeyPressMsg{Code: tea.KeyUp}, tea.KeyPressMsg{Code: tea.KeyDown}
	for i, step := range []struct {
		key  tea.KeyPressMsg
		want string
	}{
		{up, "one\ntwo\nthree"}, {up, "one\ntwo\nthree"}, {up, "new"}, {up, "old"}, {down, "new"},
		{down, "one\ntwo\nthree"}, {up, "one\ntwo\nthree"}, {down, "one\ntwo\nthree"},
	} {
		e.update(step.key)
		got := e.text()
		check.Require(t, got == step.want, "step %d: got %q, want %q", i, got, step.want)
	}
}

// The keys move through the rows of a long line as through lines, before they show the history.
func TestHistoryAroundALongLine(t *testing.T) {
	long := strings.Repeat("word ", 30)
	up, down := tea.KeyPressMsg{Code: tea.KeyUp}, tea.KeyPressMsg{Code: tea.KeyDown}
	back, forth := tea.KeyPressMsg{Code: 'p', Mod: tea.ModCtrl}, tea.KeyPressMsg{Code: 'n', Mod: tea.ModCtrl}
	for _, draft := range []string{long, "one\ntwo\nthree\nfour"} {
		for _, keys := range [][2]tea.KeyPressMsg{{up, down}, {back, forth}} {
			e := newEditor(&Terminal{ctx: t.Context()}, "")
			e.init()
			e.resize(50)
			e.history.add("old")
			e.area.SetValue(draft)
			e.view()
			for i, step := range []struct {
				key  tea.KeyPressMsg
				want string
			}{
				{keys[0], draft}, {keys[0], draft}, {keys[0], draft}, {keys[1], draft}, {keys[0], draft}, {keys[0], "old"}, {keys[1], draft},
			} {
				e.update(step.key)
				got := e.text()
				check.Require(t, got == step.want, "%.10q, %s %d: got %q, want %q", draft, step.key, i, got, step.want)
			}
		}
	}
}

// Esc and Ctrl-C that come at once leave the search and clear the line. The next ones interrupt.
func TestEscWithCtrlC(t *testing.T) {
	interrupted := 0
	m := newModel(&Terminal{output: &output{}}, Options{Interrupt: func() { interrupted++ }})
	m.editor.setText("a draft")
	m.update(tea.KeyPressMsg{Code: 'r', Mod: tea.ModCtrl})
	both := tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl | tea.ModAlt}
	m.update(both)
	check.That(t, !m.editor.search.active && m.editor.text() == "" && interrupted == 0,
		"got search %v, %q, %d interrupts", m.editor.search.active, m.editor.text(), interrupted)
	if cmd := m.update(both); cmd != nil {
		cmd()
	}
	check.Equal(t, "interrupts", interrupted, 1)
}

// Ctrl-C right after Esc works at a question without a wait.
func TestEscWithCtrlCAtAQuestion(t *testing.T) {
	m := newModel(&Terminal{output: &output{}}, Options{})
	m.update(askMsg{&choiceDialog{question: &screen.Choice{}, ending: newEnding()}})
	cmd := m.update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl | tea.ModAlt})
	if all, ok := cmd().(tea.BatchMsg); !ok || len(all) != 2 {
		t.Errorf("got %T, want two commands at once", cmd())
	}
}

// Arrows and keys with a text are one key with Ctrl and Alt: some keyboards have AltGr.
func TestOtherKeysWithCtrlAndAlt(t *testing.T) {
	m := newModel(&Terminal{output: &output{}}, Options{})
	m.update(tea.KeyPressMsg{Code: 'r', Mod: tea.ModCtrl})
	m.update(tea.KeyPressMsg{Code: 'q', Text: "@", Mod: tea.ModCtrl | tea.ModAlt})
	check.That(t, m.editor.search.text == "@", "AltGr with q: got a search %v for %q", m.editor.search.active, m.editor.search.text)
	d := newFormDialog(&screen.Form{Server: "s", Fields: []*forms.Field{{Name: "mail", Kind: forms.KindString}}, Values: map[string]any{}}, nil)
	m.update(askMsg{d})
	m.quiet.passed = true
	m.update(tea.KeyPressMsg{Code: tea.KeyLeft, Mod: tea.ModCtrl | tea.ModAlt})
	check.That(t, !d.wasLeft, "an arrow left the form")
	m.update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl | tea.ModAlt})
	check.That(t, d.wasLeft, "Esc with Ctrl-C did not leave the form")
}
