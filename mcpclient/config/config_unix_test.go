//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestPipe: a read of a pipe that nothing writes to never ends.
func TestPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "mcp.json")
	check.Must(t, syscall.Mkfifo(pipe, 0o600))
	_, err := load(pipe)
	check.That(t, err != nil && strings.HasSuffix(err.Error(), "mcp.json: not a regular file"), "a pipe as the file: got %v", err)
	path := filepath.Join(t.TempDir(), "mcp.json")
	check.Must(t, os.WriteFile(path, []byte(`{"mcpServers": {"x": {"command": "true", "envFile": "`+pipe+`"}}}`), 0o600))
	check.Text(t, loadErr(t, path), "mcp.json: not a regular file", "a pipe as an environment file")
}
