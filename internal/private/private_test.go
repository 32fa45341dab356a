package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// contains reports whether an error's text contains want; an empty want means no error.
func contains(err error, want string) bool {
	return want == "" && err == nil || want != "" && err != nil && strings.Contains(err.Error(), want)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCheckDir(t *testing.T) {
	parent := t.TempDir()
	dir, file := filepath.Join(parent, "dir"), filepath.Join(parent, "file")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, file, "")
	for path, want := range map[string]string{dir: "", dir + "/": "", file: "not a directory"} {
		if err := CheckDir(path); !contains(err, want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	if err := CheckDir(filepath.Join(parent, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if _, err := ReadFile(path, 4, 0o077); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	for content, want := range map[string]string{"": "", "1234": "", "12345": "over 4 bytes"} {
		write(t, path, content)
		got, err := ReadFile(path, 4, 0o077)
		if !contains(err, want) || err == nil && string(got) != content {
			t.Errorf("%s: got %q, %v, want %q", content, got, err, want)
		}
	}
	if _, err := ReadFile(filepath.Dir(path), 4, 0o077); !contains(err, "not a regular file") {
		t.Errorf("got %v for a directory", err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, content := range []string{"one", "two"} {
		if err := WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadFile(path, 10, 0o077); string(got) != content || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, content)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "taken"), nil); err == nil {
		t.Error("a file took the place of a directory")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("got %v, %v, want the file and the directory alone", left, err)
	}
}

// Unfinished files of a dead process are removed in time.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"new-old": 2 * time.Hour, "new-young": 0, "else": 2 * time.Hour} {
		path := filepath.Join(dir, name)
		write(t, path, "")
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	Sweep(dir)
	for name, left := range map[string]bool{"new-old": false, "new-young": true, "else": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != left {
			t.Errorf("%s: got %v, want it left: %t", name, err, left)
		}
	}
}
