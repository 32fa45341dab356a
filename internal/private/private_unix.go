//go:build unix

package private

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// exposure returns why other users could have changed a file: its owner, or a permission of denied.
// It returns "" if they could not.
func exposure(info fs.FileInfo, denied fs.FileMode) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Sprintf("belongs to the user %d", stat.Uid)
	}
	if mode := info.Mode().Perm(); mode&denied != 0 {
		return fmt.Sprintf("has the mode %#o, which lets others use it", mode)
	}
	return ""
}

func replace(from, to string) error { return os.Rename(from, to) }

func open(path string) (*os.File, error) { return os.Open(path) }

func remove(path string) error { return os.Remove(path) }
