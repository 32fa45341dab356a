//go:build unix && !aix && !solaris

package filestore_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent/filestore"
)

// TestModes checks that everything is created for the owner only.
func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	create(t, open(t, dir, nil), key)
	seen := 0
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if seen++; info.Mode().Perm() != want {
			t.Errorf("%s: got the mode %#o, want %#o", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || seen != 10 { // a, b, b/locks, a lock, the run, b/due, two directories and a mark, b/waiting
		t.Errorf("got %d files and directories, %v, want 10", seen, err)
	}
}

// TestOpenRefuses refuses a directory in which others can create files.
func TestOpenRefuses(t *testing.T) {
	parent := t.TempDir()
	shared, link, plain := filepath.Join(parent, "shared"), filepath.Join(parent, "link"), filepath.Join(parent, "plain")
	check(t, os.Mkdir(shared, 0o700))
	check(t, os.Symlink(shared, link))
	if _, err := filestore.Open(link, nil); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("got %v for a link", err)
	}
	check(t, os.Chmod(shared, 0o777))
	if _, err := filestore.Open(shared, nil); err == nil || !strings.Contains(err.Error(), "0777") {
		t.Errorf("got %v for a directory of all", err)
	}
	write(t, plain, nil)
	if _, err := filestore.Open(plain, nil); err == nil {
		t.Error("got no error for a file")
	}
	if _, err := filestore.Open(filepath.Join(plain, "below"), nil); err == nil {
		t.Error("got no error for a directory in a file")
	}
}
