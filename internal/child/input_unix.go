//go:build unix

package child

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// offering is the state between calls of [Input.Offer].
type offering struct {
	pipe  syscall.RawConn // nil before the first call
	write func(fd uintptr) bool

	rest []byte // to be written
	n    int    // bytes written
}

// Offer writes as much of b as the pipe takes without waiting, and returns the
// number of bytes. After a failure it returns 0, and Write reports the error.
func (in *Input) Offer(b []byte) (n int) {
	if in.pipe == nil && !in.prepare() {
		return 0
	}
	in.rest, in.n = b, 0
	_ = in.pipe.Write(in.write)
	in.rest = nil
	return in.n
}

// prepare returns false if writes to the pipe always wait, because the runtime
// could not poll it.
func (in *Input) prepare() bool {
	if errors.Is(in.file.SetWriteDeadline(time.Time{}), os.ErrNoDeadline) {
		return false
	}
	in.write = func(fd uintptr) bool {
		n, _ := unix.Write(int(fd), in.rest)
		in.n = max(n, 0)
		return true
	}
	var err error
	in.pipe, err = in.file.SyscallConn()
	return err == nil
}
