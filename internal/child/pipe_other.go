//go:build !linux

package child

import "os"

// pipe makes a pipe.
func pipe(end) (r, w *os.File, err error) { return os.Pipe() }
