package private

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// contains reports whether an error's text contains want; an empty want means no error.
func contains(err error, want string) bool {
	return want == "" && err == nil || want != "" && err != nil && strings.Contains(err.Error(), want)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	check.Must(t, os.WriteFile(path, []byte(content), 0o600))
}

func TestCheckDir(t *testing.T) {
	parent := t.TempDir()
	dir, file := filepath.Join(parent, "dir"), filepath.Join(parent, "file")
	check.Must(t, os.Mkdir(dir, 0o700))
	write(t, file, "")
	for path, want := range map[string]string{dir: "", dir + "/": "", file: "not a directory"} {
		err := CheckDir(path)
		check.That(t, contains(err, want), "%s: got %v, want %q", path, err, want)
	}
	check.Is(t, CheckDir(filepath.Join(parent, "gone")), fs.ErrNotExist)
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	check.Is(t, check.Err(ReadFile(path, 4, 0o077)), fs.ErrNotExist)
	for content, want := range map[string]string{"": "", "1234": "", "12345": "over 4 bytes"} {
		write(t, path, content)
		got, err := ReadFile(path, 4, 0o077)
		check.That(t, contains(err, want) && (err != nil || string(got) == content), "%s: got %q, %v, want %q", content, got, err, want)
	}
	_, err := ReadFile(filepath.Dir(path), 4, 0o077)
	check.That(t, contains(err, "not a regular file"), "got %v for a directory", err)
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, content := range []string{"one", "two"} {
		check.Must(t, WriteFile(path, []byte(content)))
		got, err := ReadFile(path, 10, 0o077)
		check.That(t, string(got) == content && err == nil, "got %q, %v, want %q", got, err, content)
	}
	check.Must(t, os.Mkdir(filepath.Join(dir, "taken"), 0o700))
	check.Fails(t, WriteFile(filepath.Join(dir, "taken"), nil), "a directory")
	left, err := os.ReadDir(dir)
	check.That(t, err == nil && len(left) == 2, "got %v, %v, want the file and the directory alone", left, err)
}

// Unfinished files of a dead process are removed in time.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"new-old": 2 * time.Hour, "new-young": 0, "else": 2 * time.Hour} {
		path := filepath.Join(dir, name)
		write(t, path, "")
		check.Must(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
	}
	Sweep(dir)
	for name, left := range map[string]bool{"new-old": false, "new-young": true, "else": true} {
		_, err := os.Stat(filepath.Join(dir, name))
		check.That(t, (err == nil) == left, "%s: got %v, want it left: %t", name, err, left)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var holders atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			unlock, err := Lock(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			check.Equal(t, "holders", holders.Add(1), 1)
			holders.Add(-1)
			check.NoError(t, unlock())
		})
	}
	wg.Wait()
}
