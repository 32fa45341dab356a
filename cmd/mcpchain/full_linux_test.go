package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestFullDisk has commands fail that cannot write their answers.
func TestFullDisk(t *testing.T) {
	suite := filepath.Join(t.TempDir(), "s.json")
	const text = `{"name": "s", "tasks": [{"id": "a", "prompt": "What is 17 plus 25?", "expect": {"answer": {"contains": ["42"]}}}]}`
	check.Must(t, os.WriteFile(suite, []byte(text), 0o600))
	for _, line := range []string{
		"chat -prompt hello", "chat -prompt /tools", "chat -json -prompt hello", "chat", "eval " + suite, "eval -json " + suite,
		"help", "help chat", "version", "completion bash", "complete i", "chat -help", "inspect -help", "serve -api -help", "demo model",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			full := check.Value(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
			defer full.Close()
			cmd := exec.CommandContext(t.Context(), os.Args[0], strings.Fields(line)...)
			cmd.Env = []string{asProgram + "=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
			var errs strings.Builder
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("hello\n"), full, &errs
			_ = cmd.Run() // the status says how it ended
			got := cmd.ProcessState.ExitCode()
			check.That(t, got == 1 && strings.Contains(errs.String(), "no space left on device"), "got %d, %s, want 1 and that the disk is full", got, &errs)
		})
	}
}
