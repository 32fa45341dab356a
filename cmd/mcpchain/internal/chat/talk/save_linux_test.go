package talk

import (
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// A file that the disk has no room for is not left in part: /save would not write to its name
// again. The limit of a file's size stands for the disk.
func TestSaveOnAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.md")
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var all syscall.Rlimit
	check.Must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &all))
	check.Must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4, Max: all.Max}))
	err := writeNew(path, []byte("hello there"))
	check.Must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &all))
	check.Is(t, err, syscall.EFBIG)
	check.Is(t, check.Err(os.Stat(path)), fs.ErrNotExist)
	check.Must(t, writeNew(path, []byte("hello there")))
	check.Is(t, writeNew(path, nil), fs.ErrExist)
	text, err := os.ReadFile(path)
	check.Must(t, err)
	check.Equal(t, "the file", string(text), "hello there")
}
