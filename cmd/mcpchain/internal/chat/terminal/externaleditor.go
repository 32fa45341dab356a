package terminal

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
)

// killAfter is the time that the editor gets to end by itself when the program ends.
const killAfter = 2 * time.Second

// externalEditor runs the person's own editor. The editor has the terminal, and nothing else is
// drawn meanwhile.
type externalEditor struct {
	ctx     context.Context // ends the editor
	in, out *os.File
}

// editedMsg is the result of the editor.
type editedMsg struct {
	text string
	err  error
}

// edit opens $VISUAL or $EDITOR with a text.
func (e externalEditor) edit(text string) tea.Cmd {
	path, err := writeDraft(text)
	if err != nil {
		return func() tea.Msg { return editedMsg{err: err} }
	}
	command := e.command(path)
	if command.Err != nil { // not found; bubbletea may not draw again after a command that ends at once
		_ = os.RemoveAll(filepath.Dir(path))
		return func() tea.Msg { return editedMsg{err: command.Err} }
	}
	return tea.ExecProcess(command, func(err error) tea.Msg {
		defer os.RemoveAll(filepath.Dir(path))
		switch {
		case e.ctx.Err() != nil:
			return syncMsg{} // the text of the editor stays
		case err != nil:
			return editedMsg{err: err}
		}
		edited, err := os.ReadFile(path)
		return editedMsg{string(edited), err}
	})
}

// command returns the command of the editor. It writes to the terminal itself: a wrapped output
// would be a pipe.
func (e externalEditor) command(path string) *exec.Cmd {
	name := os.Getenv("VISUAL")
	if name == "" {
		name = os.Getenv("EDITOR")
	}
	words := strings.Fields(name)
	if len(words) == 0 {
		words = []string{"vi"}
	}
	c := exec.CommandContext(e.ctx, words[0], append(words[1:], path)...)
	c.Stdin, c.Stdout, c.Stderr = e.in, e.out, e.out
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = killAfter
	return c
}

// writeDraft writes a text to a file in a new temporary folder.
func writeDraft(text string) (path string, err error) {
	dir, err := os.MkdirTemp("", "chatbot")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "question.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return path, nil
}
