//go:build linux || darwin || freebsd || netbsd || openbsd

package lines

import (
	"os"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// Hide stops a terminal from showing what is typed, until show is called.
func Hide(terminal *os.File) (show func(), err error) {
	before, err := term.GetState(terminal.Fd())
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	return func() { _ = term.SetState(terminal.Fd(), before) }, term.SetState(terminal.Fd(), &hidden)
}
