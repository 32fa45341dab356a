//go:build !unix && !windows

package private

import (
	"io/fs"
	"os"
)

// exposure returns "": the system has no Unix permissions.
func exposure(fs.FileInfo, fs.FileMode) string { return "" }

func replace(from, to string) error { return os.Rename(from, to) }

func open(path string) (*os.File, error) { return os.Open(path) }

func remove(path string) error { return os.Remove(path) }
