//go:build unix

package child

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// offering is what one call of [Input.Offer] hands to the next.
type offering struct {
	pipe  syscall.RawConn // nil before the first
	write func(fd uintptr) bool

	rest []byte // to be written
	n    int    // how much of it was
}

// Offer writes what the pipe takes at once, without waiting, and returns how much
// of b that was: none of it where something is wrong, which Write then says.
func (in *Input) Offer(b []byte) (n int) {
	if in.pipe == nil && !in.prepare() {
		return 0
	}
	in.rest, in.n = b, 0
	_ = in.pipe.Write(in.write)
	in.rest = nil
	return in.n
}

// prepare reports false for a pipe on which a write cannot but wait, as it is where
// the runtime could not poll it.
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
