package child

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe of which one end stays in this process. The runtime polls
// that end alone; of a pipe by [os.Pipe] it polls both until the process starts,
// which costs more than the pipe.
func pipe(stays end) (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	err = os.NewSyscallError("fcntl", unix.SetNonblock(fds[stays], true))
	return os.NewFile(uintptr(fds[readEnd]), "|0"), os.NewFile(uintptr(fds[writeEnd]), "|1"), err
}
