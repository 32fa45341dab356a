package child

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe. One end stays in this process, and the runtime polls only
// that end. It would poll both ends of an [os.Pipe] until the process starts,
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
	if errors.Is(mine.SetDeadline(time.Time{}), os.ErrNoDeadline) { // the runtime could not poll the file
		err = os.NewSyscallError("fcntl", unix.SetNonblock(fds[stays], false))
	}
	return r, w, err
}
