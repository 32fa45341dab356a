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

// patience bounds one command.
const patience = 3 * time.Minute

// Command is a command of a guide.
type Command struct {
	Text   string
	Output string // what the guide shows of its standard output, "" if nothing
}

var blocks = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```")

// Commands lists the commands in the shell blocks of a document: one on each line, which continues after a
// backslash. A text block behind them is the output of the last one.
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

// Run runs a command in a shell, with nothing on its standard input, and returns its output.
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
