// Package guide runs the commands that a guide shows, for tests.
package guide

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// patience bounds the time of a command, which may compile the program on a busy machine.
const patience = 8 * time.Minute

// Command is a command of a guide.
type Command struct {
	Text   string
	Output string // its standard output as the guide shows it, "" if the guide does not
}

var blocks = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```")

// Commands returns the commands in the sh blocks of a document, one for each line. A backslash at
// the end continues a line. A text block has the output of the command before it.
func Commands(document string) []Command {
	var out []Command
	for _, block := range blocks.FindAllStringSubmatch(document, -1) {
		if block[1] == "text" {
			if len(out) > 0 {
				out[len(out)-1].Output = block[2]
			}
			continue
		}
		for line := range strings.Lines(strings.ReplaceAll(block[2], "\\\n", "")) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				out = append(out, Command{Text: line})
			}
		}
	}
	return out
}

// Run runs a command in a shell without input, and returns its standard output. Its error has the standard error.
func Run(ctx context.Context, text, dir string, env []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(err, errors.New(stderr.String()))
	}
	return string(out), err
}
