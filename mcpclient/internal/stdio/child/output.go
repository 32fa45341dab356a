package child

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
)

// maxLate bounds the bytes read from a pipe after its deadline: no pipe holds more.
const maxLate = 1 << 20

type readEnd interface {
	io.ReadCloser
	SetReadDeadline(time.Time) error
}

type output struct {
	file readEnd
	late atomic.Int64 // bytes read after the deadline
}

// expire sets the deadline for reading, since a descendant of the process may hold the pipe open.
// Files on Windows have no deadlines; there the end of the process's job closes the pipe.
func (o *output) expire() {
	_ = o.file.SetReadDeadline(time.Now().Add(drainTimeout))
}

// Read ends with io.EOF, also after the deadline if the pipe is empty.
func (o *output) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && o.late.Load() < maxLate {
		// A file past its deadline does not look into the pipe.
		_ = o.file.SetReadDeadline(time.Now().Add(time.Millisecond))
		n, err = o.file.Read(b)
		o.late.Add(int64(n))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// lateTimeout bounds the wait for the end of the standard error after the exit
// of the process: it may be held open for drainTimeout, and reading takes time.
const lateTimeout = 2 * drainTimeout

// watch reads the standard error, awaits the exit, and then closes done. On Linux one goroutine does all that, unless w,
// which gets the standard error, could block it.
func (p *Process) watch(w io.Writer, stderr *os.File) {
	p.wg.Go(func() {
		defer close(p.done)
		drained := make(chan struct{})
		if w == nil && awaitExit(p.process, stderr, func() bool { return p.readStderr(nil) }) == nil {
			p.reap()
			p.drain(nil, drained)
			return
		}
		p.wg.Go(func() { p.drain(w, drained) })
		_ = awaitExit(p.process, nil, nil)
		p.reap()
		await.Closed(drained, lateTimeout)
	})
}

// reap waits for the process and sets its status. Then it bounds the reading of the output, and
// begins to end the rest of the group.
func (p *Process) reap() {
	if state, err := p.process.Wait(); err == nil {
		p.status = state.String()
	} else {
		p.status = err.Error()
	}
	close(p.exited)
	p.stdout.expire()
	p.stderr.expire()
	p.End()
}
