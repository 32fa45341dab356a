//go:build unix && !aix && !solaris

package filestore_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/internal/check"
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
		seen++
		check.That(t, info.Mode().Perm() == want, "%s: got the mode %#o, want %#o", path, info.Mode().Perm(), want)
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
	check.Must(t, os.Mkdir(shared, 0o700))
	check.Must(t, os.Symlink(shared, link))
	check.Text(t, check.Err(filestore.Open(link, nil)), "symbolic link")
	check.Must(t, os.Chmod(shared, 0o777))
	check.Text(t, check.Err(filestore.Open(shared, nil)), "0777")
	write(t, plain, nil)
	check.Fails(t, check.Err(filestore.Open(plain, nil)), "got no error for a file")
	check.Fails(t, check.Err(filestore.Open(filepath.Join(plain, "below"), nil)), "got no error for a directory in a file")
}
