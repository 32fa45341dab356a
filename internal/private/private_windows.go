package private

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// exposed says nothing: the permissions of Windows are lists that a file inherits
// from its directory.
func exposed(fs.FileInfo, fs.FileMode) string { return "" }

// replace waits up to a second for readers of the old file: it cannot be replaced
// while it is open.
func replace(from, to string) error {
	var err error
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		if err = os.Rename(from, to); err == nil || !errors.Is(err, windows.ERROR_ACCESS_DENIED) && !errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
			return err
		}
		time.Sleep(wait)
	}
	return err
}
