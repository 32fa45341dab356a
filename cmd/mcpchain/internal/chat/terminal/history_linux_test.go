package terminal

import (
	"fmt"
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

// A file that is a symbolic link stays one: the entries go where it points.
func TestHistoryBehindALink(t *testing.T) {
	file, link := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "history")
	check.Must(t, os.WriteFile(file, []byte("\"first\"\n"), 0o600))
	check.Must(t, os.Symlink(file, link))
	openHistory(link).add("second")
	check.Equal(t, "entries of the file", fmt.Sprint(openHistory(file).entries), "[first second]")
	target, err := os.Readlink(link)
	check.Must(t, err)
	check.Equal(t, "the link", target, file)
}
