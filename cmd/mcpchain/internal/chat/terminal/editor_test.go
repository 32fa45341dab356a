package terminal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/check"
)

// Replacing the text closes the list of completions for the old text.
func TestTextUnderTheList(t *testing.T) {
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
	check.Require(t, e.hasList(), "got no list")
	e.update(tea.KeyPressMsg{Code: 'p', Mod: tea.ModCtrl})
	check.That(t, !e.hasList() && e.text() == "hi", "got %q, with the list: %v", e.text(), e.hasList())
}

// A long item is cut in the middle, and within its column even where characters are wide.
func TestLongItems(t *testing.T) {
	m := menu{open: true}
	for _, end := range []string{"one", "two", "三三"} {
		m.items = append(m.items, screen.Item{Text: strings.Repeat("漢字/", 20) + end, About: "a"})
	}
	for i, row := range m.view(screen.Paint{}, 80)[:len(m.items)] {
		end := strings.TrimPrefix(m.items[i].Text, strings.Repeat("漢字/", 20))
		check.That(t, strings.Contains(row, end+" ") && ansi.StringWidth(row) <= 6+maxItem+3, "got %q, want the end %q", row, end)
	}
}

// Nothing selects text, as a selection would not be visible, and the next key would replace it.
func TestNoSelection(t *testing.T) {
	for _, k := range []tea.KeyPressMsg{
		{Code: 'g', Mod: tea.ModCtrl}, {Code: tea.KeyLeft, Mod: tea.ModShift}, {Code: tea.KeyUp, Mod: tea.ModShift},
		{Code: tea.KeyLeft, Mod: tea.ModShift | tea.ModCtrl}, {Code: 'b', Mod: tea.ModShift | tea.ModAlt},
	} {
		e := newEditor(&Terminal{ctx: t.Context()}, "")
		e.init()
		e.resize(80)
		e.area.SetValue("one\ntwo")
		e.update(k)
		e.update(tea.KeyPressMsg{Code: 'x', Text: "x"})
		check.Equal(t, k.String(), e.text(), "one\ntwox")
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

// The history is kept in a file for this user, without repetitions.
func TestHistoryOnDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "history")
	h := openHistory(path)
	for _, text := range []string{"first", "two\nlines", "two\nlines", "", "first", strings.Repeat("x", maxEntry+1)} {
		h.add(text)
	}
	check.Equal(t, "entries", len(h.entries), 4)
	again := openHistory(path)
	check.Equal(t, "entries on the disk", fmt.Sprintf("%q", again.entries), `["first" "two\nlines" "first"]`)
	shown, ok := again.older("draft")
	check.That(t, ok && shown == "first", "got %q, want the newest", shown)
	shown, ok = again.newer()
	check.That(t, ok && shown == "draft", "got %q, want what was being written", shown)
	mode := check.Value(os.Stat(path))(t).Mode().Perm()
	check.That(t, mode == 0o600 || runtime.GOOS == "windows", "got the mode %o", mode)
}

// The newest entries are kept in memory, and twice as many in the file. Malformed lines and control characters are removed.
// Another file, for this user, replaces a file that is too long: if it cannot be written, nothing is lost.
func TestHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	for i := range 2*maxEntries + 5 {
		fmt.Fprintf(&b, "\"%d\\u001b\"\n", i)
	}
	b.WriteString("no JSON\n\"\"\n")
	check.Must(t, os.WriteFile(path, []byte(b.String()), 0o644))
	before := check.Value(os.Stat(path))(t)
	h := openHistory(path)
	after := check.Value(os.Stat(path))(t)
	check.That(t, !os.SameFile(before, after), "the file itself was written")
	check.That(t, after.Mode().Perm() == 0o600 || runtime.GOOS == "windows", "got the mode %o", after.Mode().Perm())
	got := len(h.entries)
	check.That(t, got == maxEntries-3 && h.entries[got-1] == "2004", "got %d entries up to %q", got, h.entries[got-1])
	h.add("new")
	raw := check.Value(os.ReadFile(path))(t)
	lines := strings.Count(string(raw), "\n")
	check.That(t, lines == maxEntries && strings.HasSuffix(string(raw), "\n\"new\"\n"), "got %d lines on disk, with the end %.20q", lines, raw[len(raw)-20:])
}

func TestHistoryWithoutAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	h := openHistory("")
	h.add("first")
	check.Equal(t, "entries", fmt.Sprint(h.entries), "[first]")
	check.Equal(t, "files", fmt.Sprint(check.Value(os.ReadDir("."))(t)), "[]")
}
