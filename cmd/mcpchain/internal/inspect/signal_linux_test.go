package inspect

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// No server survives an inspector that is told to end.
func TestSignals(t *testing.T) {
	self := check.Value(os.Executable())(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			dir := t.TempDir()
			pid := filepath.Join(dir, "pid")
			file, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
				"stubborn": map[string]any{"command": self, "args": []string{pid}, "env": map[string]string{roleVariable: "stubborn"}}}})
			check.Must(t, err)
			path := filepath.Join(dir, "mcp.json")
			check.Must(t, os.WriteFile(path, file, 0o600))
			cmd := exec.CommandContext(t.Context(), self, path)
			cmd.Env = append(os.Environ(), roleVariable+"=main")
			check.Must(t, cmd.Start())
			server := 0
			for server == 0 && t.Context().Err() == nil {
				raw, _ := os.ReadFile(pid) // not there yet
				server, _ = strconv.Atoi(string(raw))
				time.Sleep(time.Millisecond)
			}
			check.Must(t, cmd.Process.Signal(signal))
			_ = cmd.Wait() // with a status of its own
			check.That(t, cmd.ProcessState.ExitCode() == statusMissing, "ended with %v, want status %d", cmd.ProcessState, statusMissing)
			if testenv.Runs(server) {
				t.Error("the server still runs")
				_ = syscall.Kill(server, syscall.SIGKILL)
			}
		})
	}
}
