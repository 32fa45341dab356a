package terminal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// A file that cannot be read is not replaced by the next entry.
func TestUnreadableHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	check.Must(t, os.Symlink(path, path)) // a loop, which root cannot read either
	openHistory(path).add("new")
	target, err := os.Readlink(path)
	check.Must(t, err)
	check.Equal(t, "the file", target, path)
}
