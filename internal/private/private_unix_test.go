//go:build unix && !aix && !solaris

package private

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
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
		{0o700, "", "", ""},
		{0o750, "", "", "0750"},
		{0o704, "", "", "0704"},
		{0o720, "0720", "0720", "0720"},
		{0o702, "0702", "0702", "0702"},
	} {
		t.Run(fmt.Sprintf("%#o", tt.mode), func(t *testing.T) {
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadFile(path, 1, 0o022); !contains(err, tt.read) {
				t.Errorf("others may read: got %v, want %q", err, tt.read)
			}
			if _, err := ReadFile(path, 1, 0o077); !contains(err, tt.own) {
				t.Errorf("others may not read: got %v, want %q", err, tt.own)
			}
			if err := os.Chmod(dir, tt.mode); err != nil {
				t.Fatal(err)
			}
			if err := CheckDir(dir); !contains(err, tt.dir) {
				t.Errorf("directory: got %v, want %q", err, tt.dir)
			}
			if _, err := ReadFile(path, 1, 0); !contains(err, tt.dir) {
				t.Errorf("file in the directory: got %v, want %q", err, tt.dir)
			}
			if err := WriteFile(filepath.Join(dir, "new"), nil); !contains(err, tt.dir) {
				t.Errorf("new file in the directory: got %v, want %q", err, tt.dir)
			}
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Another user's files are refused even with the right mode. Root creates such
// files; other users test with root's files.
func TestOwners(t *testing.T) {
	dir, path := "/", "/etc/passwd"
	if os.Geteuid() == 0 {
		dir = t.TempDir()
		path = filepath.Join(dir, "file")
		write(t, path, "")
		for _, p := range []string{path, dir} {
			if err := os.Chown(p, 1234, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := CheckDir(dir); !contains(err, "belongs to the user") {
		t.Errorf("got %v for a directory of another user", err)
	}
	if _, err := ReadFile(path, 1<<20, 0); !contains(err, "belongs to the user") {
		t.Errorf("got %v for a file of another user", err)
	}
}

// Links and pipes are refused without being opened.
func TestOtherThanFiles(t *testing.T) {
	parent := t.TempDir()
	dir, file := filepath.Join(parent, "dir"), filepath.Join(parent, "file")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, file, "x")
	link := func(target string) string {
		path := target + "-link"
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dirLink := link(dir)
	for _, path := range []string{dirLink, dirLink + "/", dirLink + "/."} {
		if err := CheckDir(path); !contains(err, "symbolic link") {
			t.Errorf("%s: got %v, want it refused", path, err)
		}
	}
	pipe := filepath.Join(parent, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	end, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that a reader gets something
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = end.Close() }()
	if _, err := end.WriteString("xx"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link(file), pipe, "/dev/null"} {
		if _, err := ReadFile(path, 1, 0o077); !contains(err, "not a regular file") {
			t.Errorf("%s: got %v, want it refused", path, err)
		}
	}
}
