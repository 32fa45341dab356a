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

// killAfter is how long the person's editor has to end by itself, if the program ends.
const killAfter = 2 * time.Second

// externalEditor is the person's own editor. It has the terminal, and nothing else is drawn meanwhile.
type externalEditor struct {
	ctx     context.Context // its end ends the editor
	in, out *os.File
}

// editedMsg is what the person wrote there.
type editedMsg struct {
	text string
	err  error
}

// edit opens $VISUAL or $EDITOR with a text.
func (o externalEditor) edit(text string) tea.Cmd {
	path, err := writeDraft(text)
	if err != nil {
		return func() tea.Msg { return editedMsg{err: err} }
	}
	command := o.command(path)
	if command.Err != nil { // an editor that is not found ends at once, and bubbletea may not draw again after one that does
		_ = os.RemoveAll(filepath.Dir(path))
		return func() tea.Msg { return editedMsg{err: command.Err} }
	}
	return tea.ExecProcess(command, func(err error) tea.Msg {
		defer os.RemoveAll(filepath.Dir(path))
		switch {
		case o.ctx.Err() != nil:
			return passMsg{} // what was typed stays
		case err != nil:
			return editedMsg{err: err}
		}
		written, err := os.ReadFile(path)
		return editedMsg{string(written), err}
	})
}

// command starts the editor. An output that is not a file would be a pipe for it.
func (o externalEditor) command(path string) *exec.Cmd {
	name := os.Getenv("VISUAL")
	if name == "" {
		name = os.Getenv("EDITOR")
	}
	words := strings.Fields(name)
	if len(words) == 0 {
		words = []string{"vi"}
	}
	c := exec.CommandContext(o.ctx, words[0], append(words[1:], path)...)
	c.Stdin, c.Stdout, c.Stderr = o.in, o.out, o.out
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = killAfter
	return c
}

// writeDraft writes a text into a file, in a folder of its own.
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
