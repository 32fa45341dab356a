package chat

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/terminal"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A form keeps what was typed: after Esc it continues at the same field, after "edit" at the first one. A key right
// after Enter is for the next field.
func TestFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	m := openScreen(t)
	m.enter("you ›", "Book a table for 4\r", "[y]es", "y", "Enter continues", "2030-05-01\r25:00\r")
	m.enter("✗ 25:00 does not fit\n", "\x15"+"19:00\r", "┃ Number")
	m.golden("form-default")
	m.typed("\r", "┃ Where", "\x1b", "Leave the form?  [b]ack", "b", "Leave the form? back to it\n")
	m.await("┃ Where")
	m.enter("Esc leaves the form", "\r\rquiet\r", "Send this to demo?  [y]es", "e", "Send this to demo? edit\n")
	m.enter("Enter continues", "\x7f2\r", "› 2030-05-02\n")
	m.await("┃ Time\n")
	m.enter("› 19:00\n", "\r\r\r\r\r", "Date: 2030-05-02\n")
	m.await("Note to the kitchen: quiet\n")
	m.enter("Send this to demo?  [y]es", "y", "Booked: a table")
	m.leave()
}

// A default that the person clears is not sent, and stays cleared after "edit".
func TestFormWithoutItsDefaults(t *testing.T) {
	form := &screen.Form{Server: "box", Message: "Fill it in.", Values: map[string]any{}, Fields: []*forms.Field{
		{Name: "note", Title: "Note", Kind: forms.KindString, Default: "quiet"},
		{Name: "people", Title: "People", Kind: forms.KindInteger, Default: 4.0},
		{Name: "seat", Title: "Seat", Kind: forms.KindChoice, Default: "bar", Options: []forms.Option{{Value: "bar", Title: "At the bar"}}},
		{Name: "time", Title: "Time", Kind: forms.KindString, Default: "19:00"},
	}}
	m := onScreen(t, 60, "", func(ctx context.Context, s *terminal.Terminal, _ *talk.Interrupts) {
		action, err := s.Fill(ctx, form)
		check.That(t, action == mcp.ElicitAccept && err == nil, "got %v, %v, want an accepted form", action, err)
	})
	m.await("Enter continues")
	m.enter("┃ › quiet\n", "\x15\r", "┃ › 4\n", ctrlC, "┃ ›\n", "\r", "┃ Seat")
	m.enter("> At the bar\n", "\x1b[B", "> (nothing)\n", "\r", "┃ › 19:00\n", "\r", "Send this to box?  [y]es", "e")
	m.await("Send this to box? edit\n", "Enter continues")
	m.enter("┃ Note (optional)\n┃ ›\n", "\r", "┃ People (optional)\n┃ ›\n", "\r", "> (nothing)\n", "\r", "┃ › 19:00\n", "\r")
	m.enter("Send this to box?  [y]es", "y")
	m.ended(0)
	want := map[string]any{"time": "19:00"}
	check.That(t, reflect.DeepEqual(form.Values, want), "got %v, want %v", form.Values, want)
}

// allowed starts a program on a terminal, has it ask about a call, and allows the tool always.
func allowed(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	m := openScreenOf(t, cmd)
	m.enter("you ›", "What is 1 plus 2?\r", "[y]es", "a", "1 + 2 = 3")
	m.ask("/permissions", " always add of ")
	m.leave()
}

// An always allowed tool of the demo server is also allowed in other builds, folders and scripts, until the person takes it back.
func TestPermissions(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	allowed(t, cmd)
	build := filepath.Join(t.TempDir(), "another-build")
	check.Must(t, exec.Command("cp", cmd.Path, build).Run()) // this process must not have it open while it starts others
	script := func(input string) outcome {
		again := exec.CommandContext(t.Context(), build)
		again.Dir, again.Env = t.TempDir(), cmd.Env
		return finish(t, again, input)
	}
	script("What is 3 plus 4?\n").check(t, "The result: 3 + 4 = 7.\n", 0)
	mixed := script("What is 3 plus 4?\nWhat is 6 times 7?\n")
	mixed.check(t, mixed.stdout, 1, "denied demo: tool call multiply", "mcpchain: 1 call denied, because no person could be asked; ")
	o := script("/permissions forget 1\n/permissions\n/permissions forget 2\n/permissions forget 1\n/permissions\nWhat is 3 plus 4?\n")
	o.check(t, o.stdout, 1, "error: no decision 1; /permissions lists them\n", "error: no decision 2; ",
		"forgotten: always add of demo (the demo server)", "denied demo: tool call add")
	holds(t, o.stdout, "  always add of demo (the demo server)\n", "nothing is decided for later calls\n")
}

// A command that is always allowed in one folder is not allowed in another, where it may start another program.
func TestPermissionsOfAFolder(t *testing.T) {
	t.Parallel()
	cmd := command(t, "-config", configure(t, "mine=good"))
	cmd.Dir = t.TempDir()
	allowed(t, cmd)
	finish(t, again(t, cmd), "What is 3 plus 4?\n").check(t, "The result: 3 + 4 = 7.\n", 0)
	other := again(t, cmd)
	other.Dir = t.TempDir()
	o := finish(t, other, "/permissions\nWhat is 3 plus 4?\n")
	o.check(t, o.stdout, 1, "denied mine: tool call add")
	check.Contains(t, "", strings.ReplaceAll(o.stdout, "\n", ""), " of mine ("+cmd.Path+" in "+cmd.Dir+")")
	o = finish(t, again(t, cmd), "/permissions\n/permissions forget 1\n/permissions forget\nWhat is 3 plus 4?\n")
	o.check(t, o.stdout, 1, "forgotten: always add of mine", "error: usage: /permissions, or", "denied mine: tool call add")
}

// inProject returns a command in a folder whose mcp.json has a server that needs a password.
func inProject(t *testing.T) *exec.Cmd {
	t.Helper()
	model, _ := overheard(t)
	cmd := command(t, model...)
	text := check.Value(json.Marshal(map[string]any{
		"inputs": []any{map[string]any{"type": "promptString", "id": "key", "description": "The key of the server", "password": true}},
		"servers": map[string]any{"mine": map[string]any{
			"command": cmd.Path, "env": map[string]string{asServer: "good", "KEY": "${input:key}"}, "excludeTools": []string{"count"},
		}},
	}))(t)
	cmd.Dir = t.TempDir()
	put(t, filepath.Join(cmd.Dir, "mcp.json"), string(text), 0o600)
	return cmd
}

// The program asks before it uses the file of a folder, and asks for a password without showing it.
func TestProjectFile(t *testing.T) {
	t.Parallel()
	cmd := inProject(t)
	m := openScreenOf(t, cmd)
	m.await("mine: starts ")
	m.enter("[y]es", "y", "The key of the server:  it is not shown", "hunter2", "*******", "\r")
	m.await("server mine: 6 tools") // one of the demo server's is excluded
	m.leave()
	n := openScreenOf(t, again(t, cmd))
	n.enter("The key of the server:  it is not shown", "hunter2\r", "you ›\n", ctrlD)
	n.ended(0)
	check.That(t, !strings.Contains(n.screen(), "starts "), "got another question about a trusted file:\n%s", n.screen())
	shown := string(m.whole) + string(n.whole)
	check.That(t, !strings.Contains(shown, "hunter2"), "the password was shown")
	err := filepath.Walk(m.home(), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		check.That(t, !strings.Contains(string(data), "hunter2"), "%s has the password", path)
		return err
	})
	check.NoError(t, err)
}

// A plain terminal does not show a password either.
func TestProjectFileOnAPlainTerminal(t *testing.T) {
	t.Parallel()
	p := openPlainOf(t, inProject(t))
	p.enter("[n]o: ", "yes\n", "The key of the server: ", "hunter2\n", "server mine: 6 tools")
	p.enter("you ›", "call add {\"a\":1,\"b\":2}\n", "[n]o", "y\n", "The result: 1 + 2 = 3.")
	p.leave()
	check.That(t, !strings.Contains(p.whole, "hunter2"), "the password was shown")
}

// A script does not use the file of its folder, and says so.
func TestProjectFileWithoutATerminal(t *testing.T) {
	t.Parallel()
	finish(t, inProject(t), "hello\n").check(t, "", 1, "mcp.json names servers that you have not allowed yet",
		"give -config mcp.json to use them, or -config none")
}
