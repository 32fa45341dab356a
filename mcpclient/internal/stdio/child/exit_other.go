//go:build !linux

package child

import (
	"errors"
	"os"
)

// awaitExit is for Linux only: elsewhere [os.Process.Wait] blocks a thread until the exit.
func awaitExit(*os.Process, *os.File, func() bool) error { return errors.ErrUnsupported }
