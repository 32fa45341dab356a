//go:build !windows && (!unix || aix || solaris)

package private

import (
	"errors"
	"os"
)

// tryLock refuses: without a lock two processes could spoil the files of each other.
func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func unlockFile(*os.File) error { return nil }
