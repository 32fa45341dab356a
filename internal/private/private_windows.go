package private

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// exposure returns "": on Windows a file inherits its permissions from its directory.
func exposure(fs.FileInfo, fs.FileMode) string { return "" }

// replace waits for readers of the old file: it cannot be replaced while it is open.
func replace(from, to string) error {
	return patiently(func() error { return os.Rename(from, to) })
}

// open waits for a writer that is replacing the file.
func open(path string) (file *os.File, err error) {
	err = patiently(func() error {
		file, err = os.Open(path)
		return err
	})
	return file, err
}

// remove waits for readers of the file.
func remove(path string) error {
	return patiently(func() error { return os.Remove(path) })
}

// patience bounds the wait for other processes that are reading the file.
const patience = 2 * time.Second

// patiently retries do while another process holds the file.
func patiently(do func() error) error {
	var err error
	for start, wait := time.Now(), time.Millisecond; time.Since(start) < patience; wait = min(2*wait, 50*time.Millisecond) {
		err = do()
		if !errors.Is(err, windows.ERROR_ACCESS_DENIED) && !errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
			return err
		}
		time.Sleep(wait)
	}
	return err
}

func tryLock(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

func unlockFile(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, new(windows.Overlapped))
}
