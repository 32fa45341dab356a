//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipe: a read of a pipe that nothing writes to never ends.
func TestPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "mcp.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(pipe); err == nil || !strings.HasSuffix(err.Error(), "mcp.json: not a regular file") {
		t.Errorf("a pipe as the file: got %v", err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"x": {"command": "true", "envFile": "`+pipe+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := loadErr(t, path); err == nil || !strings.Contains(err.Error(), "mcp.json: not a regular file") {
		t.Errorf("a pipe as an environment file: got %v", err)
	}
}
