//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd

package lines

import "os"

// Hide stops a terminal from showing what is typed, which this system is not asked to do.
func Hide(*os.File) (show func(), err error) { return nil, errShown }
