package child

import (
	"cmp"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The events of the epoll instance in awaitExit.
const (
	hasExited int32 = iota
	hasOutput
)

// awaitExit returns when the process has exited, and does not reap it. Meanwhile it calls read when stderr, unless it is nil,
// has output, and closes stderr when read returns false. Unlike [os.Process.Wait] it blocks no thread, which would take three
// times the memory of an idle connection. An error means that this kernel cannot do that.
func awaitExit(p *os.Process, stderr *os.File, read func() (more bool)) error {
	epoll, err := newEpoll(p, stderr)
	if err != nil {
		return err
	}
	defer func() { _ = epoll.Close() }()
	conn, err := epoll.SyscallConn()
	if err != nil {
		return err
	}
	for {
		var event [1]unix.EpollEvent
		var waitErr error
		err := conn.Read(func(fd uintptr) (done bool) {
			var n int
			n, waitErr = unix.EpollWait(int(fd), event[:], 0)
			return n > 0 || waitErr != nil
		})
		if err = cmp.Or(err, waitErr); err != nil || event[0].Fd == hasExited {
			return err
		}
		if !read() {
			_ = stderr.Close() // removes it from the epoll instance
		}
	}
}

// newEpoll returns an epoll instance, which the runtime polls.
func newEpoll(p *os.Process, stderr *os.File) (_ *os.File, err error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err = unix.SetNonblock(fd, true); err == nil {
		err = addTo(fd, hasExited, p.WithHandle)
	}
	if err == nil && stderr != nil {
		var conn syscall.RawConn
		if conn, err = stderr.SyscallConn(); err == nil {
			err = addTo(fd, hasOutput, conn.Control)
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "epoll"), nil
}

func addTo(epoll int, event int32, withFile func(func(fd uintptr)) error) (err error) {
	unusable := withFile(func(fd uintptr) {
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, int(fd), &unix.EpollEvent{Events: unix.EPOLLIN, Fd: event})
	})
	return cmp.Or(unusable, err)
}
