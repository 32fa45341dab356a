//go:build linux || darwin || freebsd || netbsd || openbsd

package lines

import (
	"os"

	"golang.org/x/sys/unix"
)

// Hide stops a terminal from showing what is typed, until show is called.
func Hide(terminal *os.File) (show func(), err error) {
	fd := int(terminal.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, setTermios, &hidden); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }, nil
}
