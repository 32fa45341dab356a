//go:build unix && !aix && !solaris

package private

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Files and directories that others can change are refused, with any content.
func TestModes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, "x")
	for _, tt := range []struct {
		mode      fs.FileMode
		dir       string // part of the error of CheckDir
		read, own string // parts of the errors of ReadFile, without 0022 and 0077
	}{
		{0o700, "", "", ""}, {0o750, "", "", "0750"}, {0o704, "", "", "0704"}, {0o720, "0720", "0720", "0720"},
		{0o702, "0702", "0702", "0702"},
	} {
		t.Run(fmt.Sprintf("%#o", tt.mode), func(t *testing.T) {
			check.Must(t, os.Chmod(path, tt.mode))
			_, err := ReadFile(path, 1, 0o022)
			check.That(t, contains(err, tt.read), "others may read: got %v, want %q", err, tt.read)
			_, err = ReadFile(path, 1, 0o077)
			check.That(t, contains(err, tt.own), "others may not read: got %v, want %q", err, tt.own)
			check.Must(t, os.Chmod(dir, tt.mode))
			err = CheckDir(dir)
			check.That(t, contains(err, tt.dir), "directory: got %v, want %q", err, tt.dir)
			_, err = ReadFile(path, 1, 0)
			check.That(t, contains(err, tt.dir), "file in the directory: got %v, want %q", err, tt.dir)
			err = WriteFile(filepath.Join(dir, "new"), nil)
			check.That(t, contains(err, tt.dir), "new file in the directory: got %v, want %q", err, tt.dir)
			check.Must(t, os.Chmod(dir, 0o700))
		})
	}
}

// Another user's files are refused even with the right mode. Root creates such files; other users test with root's files.
func TestOwners(t *testing.T) {
	dir, path := "/", "/etc/passwd"
	if os.Geteuid() == 0 {
		dir = t.TempDir()
		path = filepath.Join(dir, "file")
		write(t, path, "")
		for _, p := range []string{path, dir} {
			check.Must(t, os.Chown(p, 1234, -1))
		}
	}
	err := CheckDir(dir)
	check.That(t, contains(err, "belongs to the user"), "got %v for a directory of another user", err)
	_, err = ReadFile(path, 1<<20, 0)
	check.That(t, contains(err, "belongs to the user"), "got %v for a file of another user", err)
}

// Links and pipes are refused without being opened.
func TestOtherThanFiles(t *testing.T) {
	parent := t.TempDir()
	dir, file := filepath.Join(parent, "dir"), filepath.Join(parent, "file")
	check.Must(t, os.Mkdir(dir, 0o700))
	write(t, file, "x")
	link := func(target string) string {
		path := target + "-link"
		check.Must(t, os.Symlink(target, path))
		return path
	}
	dirLink := link(dir)
	for _, path := range []string{dirLink, dirLink + "/", dirLink + "/."} {
		err := CheckDir(path)
		check.That(t, contains(err, "symbolic link"), "%s: got %v, want it refused", path, err)
	}
	pipe := filepath.Join(parent, "pipe")
	check.Must(t, syscall.Mkfifo(pipe, 0o600))
	end, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that a reader gets something
	check.Must(t, err)
	defer func() { _ = end.Close() }()
	check.Must(t, check.Err(end.WriteString("xx")))
	for _, path := range []string{link(file), pipe, "/dev/null"} {
		_, err := ReadFile(path, 1, 0o077)
		check.That(t, contains(err, "not a regular file"), "%s: got %v, want it refused", path, err)
	}
}
