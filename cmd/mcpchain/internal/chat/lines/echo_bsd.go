//go:build darwin || freebsd || netbsd || openbsd

package lines

import "golang.org/x/sys/unix"

const getTermios, setTermios = unix.TIOCGETA, unix.TIOCSETA
