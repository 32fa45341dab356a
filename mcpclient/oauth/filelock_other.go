//go:build !windows && (!unix || aix || solaris)

package oauth

import (
	"errors"
	"os"
)

// tryLock refuses: without a lock two processes could spoil each other's tokens.
func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func unlockFile(*os.File) error { return nil }
