package child

import (
	"os"

	"golang.org/x/sys/unix"
)

// awaitExit returns once the process has exited and is not yet reaped, or at
// once where that cannot be watched. Unlike Wait it holds no thread meanwhile.
func awaitExit(p *os.Process) {
	fd, err := unix.PidfdOpen(p.Pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), "pidfd") // which the runtime polls
	defer func() { _ = f.Close() }()
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) (exited bool) {
		events := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(events, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}
