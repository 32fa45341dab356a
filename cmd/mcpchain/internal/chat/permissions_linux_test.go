package chat

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// allowed starts a program on a terminal, has it ask about a call, and allows the tool always.
func allowed(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	m := openScreenOf(t, cmd)
	m.enter("you ›", "What is 1 plus 2?\r", "[y]es", "a", "1 + 2 = 3")
	m.ask("/permissions", " always add of ", "/permissions forget all", "Forget 1 decision, also those for other folders?")
	m.enter("[n]o", "n")
	m.leave()
}

// An always allowed tool of the demo server is also allowed in other builds, folders and scripts, until the person
// takes it back.
func TestPermissions(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	allowed(t, cmd)
	build := filepath.Join(t.TempDir(), "another-build")
	if err := exec.Command("cp", cmd.Path, build).Run(); err != nil { // this process must not have it open while it starts others
		t.Fatal(err)
	}
	script := func(input string) outcome {
		again := exec.CommandContext(t.Context(), build)
		again.Dir, again.Env = t.TempDir(), cmd.Env
		return finish(t, again, input)
	}
	script("What is 3 plus 4?\n").check(t, "The result: 3 + 4 = 7.\n", 0)
	o := script("/permissions forget 1\n/permissions\n/permissions forget 2\n/permissions forget 1\n/permissions\nWhat is 3 plus 4?\n")
	o.check(t, o.stdout, 1, "error: no decision 1; /permissions lists them\n", "error: no decision 2; ",
		"forgotten: always add of demo (the demo server)", "denied demo: tool call add")
	holds(t, o.stdout, "  always add of demo (the demo server)\n", "nothing is decided for later calls\n")
}

// A command that is always allowed in one folder is not allowed in another, where it may start another program.
func TestPermissionsOfAFolder(t *testing.T) {
	t.Parallel()
	config := configure(t, "mine=good")
	cmd := command(t, "-config", config)
	cmd.Dir = t.TempDir()
	allowed(t, cmd)
	finish(t, again(t, cmd), "What is 3 plus 4?\n").check(t, "The result: 3 + 4 = 7.\n", 0)
	other := again(t, cmd)
	other.Dir = t.TempDir()
	o := finish(t, other, "/permissions\nWhat is 3 plus 4?\n")
	o.check(t, o.stdout, 1, "denied mine: tool call add")
	check.Contains(t, "", strings.ReplaceAll(o.stdout, "\n", ""), " of mine ("+cmd.Path+" in "+cmd.Dir+")")
	o = finish(t, again(t, cmd), "/permissions forget all\n/permissions forget\nWhat is 3 plus 4?\n")
	o.check(t, o.stdout, 1, "forgotten: 1 decision", "error: usage: /permissions, or", "denied mine: tool call add")
}
