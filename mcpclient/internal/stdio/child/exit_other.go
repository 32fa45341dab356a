//go:build !linux

package child

import (
	"errors"
	"os"
)

// exitWatch cannot be made on this system: Wait blocks a thread until the process has exited.
type exitWatch struct{}

func newExitWatch(*os.Process, *os.File) (*exitWatch, error) { return nil, errors.ErrUnsupported }

func (*exitWatch) await(func() bool) (bool, error) { return false, errors.ErrUnsupported }
