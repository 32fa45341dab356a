package child

import (
	"errors"
	"os"
	"time"

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
	r, w = os.NewFile(uintptr(fds[readEnd]), "|0"), os.NewFile(uintptr(fds[writeEnd]), "|1")
	mine := r
	if stays == writeEnd {
		mine = w
	}
	if errors.Is(mine.SetDeadline(time.Time{}), os.ErrNoDeadline) { // the runtime can poll no more files
		err = os.NewSyscallError("fcntl", unix.SetNonblock(fds[stays], false))
	}
	return r, w, err
}
