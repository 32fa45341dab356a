// Package private reads and writes files that only the user of this process can change.
package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	unfinished   = "new-"    // prefix of the name of an unfinished file
	abandonAfter = time.Hour // age of a dead process's file
)

// CheckDir refuses a directory in which another user can put files: it must not be a symbolic link,
// belong to another user, or be writable for a group or others. On systems without Unix
// permissions, only links are refused. The error for a missing directory is [fs.ErrNotExist].
func CheckDir(path string) error {
	path = filepath.Clean(path) // Lstat follows a link with a slash behind it
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link: name the directory itself", path)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", path)
	}
	if reason := exposure(info, 0o022); reason != "" {
		return fmt.Errorf("%s %s: want a directory of your own with the mode 0700", path, reason)
	}
	return nil
}

// UnusableError is the error of a file that no later attempt can read either, so that it may as well be removed.
type UnusableError struct{ Reason string }

func (e *UnusableError) Error() string { return e.Reason }

func unusableError(format string, args ...any) error {
	return &UnusableError{fmt.Sprintf(format, args...)}
}

// ReadFile returns the content of a regular file of at most limit bytes, not of a symbolic link. On systems with Unix
// permissions it also refuses a file of another user, and one whose mode has a bit of denied. The directory has to pass
// [CheckDir]. The error for a file that is refused is an [*UnusableError], and for a missing file [fs.ErrNotExist].
func ReadFile(path string, limit int64, denied fs.FileMode) ([]byte, error) {
	if err := CheckDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait
		return nil, unusableError("%s is not a regular file: remove it", path)
	}
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	if reason := exposure(info, denied); reason != "" {
		return nil, unusableError("%s %s: want a file of your own with the mode 0600; remove it unless you trust its content", path, reason)
	}
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, unusableError("%s is over %d bytes: remove it", path, limit)
	}
	return content, nil
}

// WriteFile replaces a whole file (mode 0600): a reader gets the old content or the new. The directory has to pass
// [CheckDir]. If the process dies meanwhile, an unfinished file remains for [Sweep].
func WriteFile(path string, content []byte) (err error) {
	if err := CheckDir(filepath.Dir(path)); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), unfinished+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return err
	}
	return replace(file.Name(), path)
}

// Sweep removes unfinished files older than an hour from a directory, as far as it can.
func Sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), unfinished) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandonAfter {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// Remove removes a file. The error for a missing file is [fs.ErrNotExist].
func Remove(path string) error { return remove(path) }
