package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
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
		_, ended := w.update(tea.KeyPressMsg{Code: tea.KeyEnter})
		view, cursor := w.view(40, true)
		lines := strings.Split(view, "\n")
		if last := lines[len(lines)-1]; ended || last != `✗ want abc\x1b[8m` || cursor == nil || !strings.Contains(lines[cursor.Y], "ab") {
			t.Fatalf("got %q, with the cursor at %v, want the reason below the text", lines, cursor)
		}
		check.That(t, strings.Contains(view, "Esc") == back, "back %v: got %q", back, view)
		_, ended = w.update(tea.KeyPressMsg{Code: tea.KeyEscape})
		check.That(t, w.wasLeft == back && ended == back, "back %v: after Esc got left %v, over %v", back, w.wasLeft, ended)
		w.update(tea.KeyPressMsg{Code: 'c', Text: "c"})
		_, ended = w.update(tea.KeyPressMsg{Code: tea.KeyEnter})
		check.That(t, ended && w.input.Value() == "abc", "back %v: got %q, over %v", back, w.input.Value(), ended)
	}
}

// Keys before a dialog takes them go to the editor, except at a secret.
func TestTypedBeforeTheQuestion(t *testing.T) {
	for want, d := range map[string]dialog{"": newSecretDialog(screen.Paint{}, "Key:"), "x": newTextDialog(screen.Paint{}, &screen.Draft{Prompt: "Reason:"})} {
		m := newModel(&Terminal{output: &output{}}, Options{})
		m.Init() // the editor has the keys
		m.update(askMsg{d, nil})
		m.handleInput(tea.KeyPressMsg{Code: 'x', Text: "x"})
		check.Equal(t, d, m.editor.text(), want)
		m.editor.queue = []string{"later"}
		lines, _ := m.lines()
		check.Equal(t, "a hint at a key of the editor", strings.Contains(strings.Join(lines, "\n"), "takes it back"), false)
	}
}

// Ctrl-C takes the queue back and ends the turn. A second one ends the program, and not only clears what came back.
func TestInterruptsWithAQueue(t *testing.T) {
	interrupts := 0
	m := newModel(&Terminal{output: &output{}}, Options{Interrupt: func() { interrupts++ }})
	m.editor.queue = []string{"later"}
	for i, want := range []string{"later", ""} {
		m.handleKey(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})()
		check.That(t, interrupts == i+1 && m.editor.text() == want, "got %d interrupts, %q", interrupts, m.editor.text())
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
	})
	d.init(80, 24)
	d.update(tea.KeyPressMsg{Code: tea.KeyEnter})
	check.Equal(t, "cleared", d.clear(), true)
	check.Equal(t, "from", d.inputs[0].text, "Oslo")
	check.Equal(t, "to", d.inputs[1].text, "")
}

// Esc ends the search in a list, and then leaves the form.
func TestEscInASearch(t *testing.T) {
	d := newFormDialog(&screen.Form{Fields: []*forms.Field{
		{Name: "seat", Kind: forms.KindChoice, Options: []forms.Option{{Value: "bar", Title: "At the bar"}, {Value: "in", Title: "Inside"}}},
	}})
	d.init(80, 24)
	for i, key := range []tea.KeyPressMsg{{Code: '/', Text: "/"}, {Code: 'x', Text: "x"}, {Code: tea.KeyEscape}, {Code: tea.KeyEscape}} {
		_, ended := d.update(key)
		check.Equal(t, i, ended, i == 3)
	}
	check.That(t, d.wasLeft, "the form was not left")
}

func TestStatus(t *testing.T) {
	begin := time.Now()
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	total := 4.0
	call := func(id, tool string) agent.Call { return agent.Call{ID: id, Server: "demo", Tool: tool} }
	s := status{window: 1000}
	s.begin(begin)
	for i, step := range []struct {
		event agent.Event
		want  string
	}{
		{&agent.ModelStart{}, "● waiting for the model · 1 s · Ctrl-C stops"},
		{&agent.ReasoningDelta{}, "● thinking · 2 s · Ctrl-C stops"},
		{&agent.TextDelta{}, "● answering · 3 s · Ctrl-C stops"},
		{&agent.ModelEnd{Usage: run.Usage{Turns: 1, Input: 1500, Output: 20, Cost: map[string]int64{"USD": 12_000}}},
			"● working · 4 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
		{&agent.ToolStart{Call: call("1", "count")},
			"  ⋯ demo count 0 s\n● running demo count · 5 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
		{&agent.ToolStart{Call: call("2", "login\x1b[2J")},
			"  ⋯ demo count 1 s\n  ⋯ demo login\\x1b[2J 0 s\n● running 2 tools · 6 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
		{&agent.ToolProgress{Call: call("1", "count"), Progress: mcp.Progress{Progress: 1, Total: &total, Message: "one\x1b[2J"}},
			"  ⋯ demo count 2 s 1/4 one\\x1b[2J\n  ⋯ demo login\\x1b[2J 1 s\n● running 2 tools · 7 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
		{&agent.ToolProgress{Call: call("2", "login"), Progress: mcp.Progress{Progress: 2, Total: &total}},
			"  ⋯ demo count 3 s 1/4 one\\x1b[2J\n  ⋯ demo login\\x1b[2J 2 s 2/4\n● running 2 tools · 8 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
		{&agent.ToolEnd{Call: call("1", "count")},
			"  ⋯ demo login\\x1b[2J 3 s 2/4\n● running demo login\\x1b[2J · 9 s · ↑1.5k ↓20 0.01 USD · 152% of the context · Ctrl-C stops"},
	} {
		s.handleEvent(step.event, at(i+1))
		check.Same(t, i, strings.Join(s.view(at(i+1), false), "\n"), step.want)
	}
	s.end()
	check.That(t, s.view(at(70), false) == nil, "a turn that is over has a status")
	check.Equal(t, "", formatSeconds(252*time.Second), "4:12")
}

// Also on a screen that is as narrow as a character, the lines come to an end.
func TestNarrowScreen(t *testing.T) {
	for width := 1; width <= 3; width++ {
		rest, got := []string{"日本語 text"}, ""
		for n := 0; len(rest) > 0 && n < 20; n++ {
			var portion []string
			portion, rest = nextPortion(rest, width, 1)
			got += strings.Join(portion, "")
		}
		got = strings.ReplaceAll(got, " ", "")
		check.That(t, len(rest) == 0 && got == "日本語text", "%d columns: got %q, and %q is left", width, got, rest)
	}
}

// No portion is higher than the room, whatever the lengths of the lines, and nothing is lost.
func TestNextPortion(t *testing.T) {
	const width, room = 10, 4
	lengths := []int{0, 9, 10, 11, 39, 40, 41, 200}
	for n := range 512 {
		lines := []string{"\tx"}
		for i, c := range fmt.Sprintf("%o", n) {
			lines = append(lines, strings.Repeat(string(rune('a'+i)), lengths[c-'0']))
		}
		want := strings.Join(lines, "")
		got := ""
		for rest := lines; len(rest) > 0; {
			var portion []string
			portion, rest = nextPortion(rest, width, room)
			rows := 0
			for _, line := range portion {
				columns := ansi.StringWidth(line)
				rows += 1 + columns/width
				check.Require(t, columns == 0 || columns%width > 0, "%q fills its last row", line)
				got += line
			}
			check.Require(t, len(portion) > 0 && rows <= room, "%q: got %d rows, want at most %d", portion, rows, room)
		}
		plain := strings.NewReplacer(" ", "", "\t", "")
		check.Require(t, plain.Replace(got) == plain.Replace(want), "got %q, want %q", got, want)
	}
}

// TestShrink checks that blank rows stay until the shorter frame was written. An earlier one may end after it was made.
func TestShrink(t *testing.T) {
	written := int64(1)
	h := frameHeight{written: func() int64 { return written }}
	for _, needed := range []int{h.grow(9), 2} {
		h.beginShrink(needed)
	}
	for _, step := range []struct {
		do   func()
		want int // rows after a shrinkMsg
	}{{func() { written++ }, 9}, {h.onRendered, 9}, {func() { written++ }, 2}} {
		step.do()
		h.onShrink(2)
		check.Equal(t, "rows", h.rows, step.want)
	}
}
