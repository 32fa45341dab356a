package child

import (
	"cmp"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The events of an exitWatch.
const (
	hasExited int32 = iota
	hasOutput
)

// exitWatch is an epoll instance, on which one goroutine awaits the exit of a process and its
// output. Unlike Wait it does not block a thread.
type exitWatch struct {
	epoll  int
	file   *os.File // the same, polled by the runtime
	output syscall.RawConn
}

// newExitWatch watches a process that is not reaped, and its output unless that is nil.
func newExitWatch(p *os.Process, output *os.File) (w *exitWatch, err error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	w = &exitWatch{epoll: fd}
	if err := w.control(unix.EPOLL_CTL_ADD, hasExited, p.WithHandle); err != nil {
		return nil, err
	}
	if output != nil {
		if w.output, err = output.SyscallConn(); err != nil {
			return nil, err
		}
		if err := w.control(unix.EPOLL_CTL_ADD, hasOutput, w.output.Control); err != nil {
			return nil, err
		}
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	w.file = os.NewFile(uintptr(fd), "epoll") // last: adding to a polled one costs more
	return w, nil
}

// control watches the file of access for one event.
func (w *exitWatch) control(op int, event int32, access func(func(fd uintptr)) error) (err error) {
	denied := access(func(fd uintptr) {
		err = unix.EpollCtl(w.epoll, op, int(fd), &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: event})
	})
	return cmp.Or(denied, err)
}

// await returns when the process has exited and is not yet reaped. Until then it calls read for new
// output, as long as read returns true. ended reports whether read returned false, or the output has
// ended. await closes the watch.
func (w *exitWatch) await(read func() (more bool)) (ended bool, err error) {
	defer w.file.Close()
	for {
		event, err := w.next()
		switch {
		case err != nil || event.Fd == hasExited:
			return ended, err
		case event.Events&unix.EPOLLIN == 0 || !read():
			ended = true
		default:
			if err := w.control(unix.EPOLL_CTL_MOD, hasOutput, w.output.Control); err != nil {
				return ended, err
			}
		}
	}
}

func (w *exitWatch) next() (event unix.EpollEvent, err error) {
	conn, err := w.file.SyscallConn()
	if err != nil {
		return event, err
	}
	var events [1]unix.EpollEvent
	unusable := conn.Read(func(fd uintptr) (done bool) {
		var n int
		n, err = unix.EpollWait(int(fd), events[:], 0)
		for err == unix.EINTR {
			n, err = unix.EpollWait(int(fd), events[:], 0)
		}
		return n > 0 || err != nil
	})
	return events[0], cmp.Or(unusable, err)
}
