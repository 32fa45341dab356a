package child

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// maxAfterlife bounds what is read from a pipe when its time is over: no pipe
// holds more.
const maxAfterlife = 1 << 20

// output is the end of a pipe that the process writes to.
type output struct {
	file *os.File
	late atomic.Int64 // bytes that were read when its time was over
}

// expire starts the time in which reading must come to its end, though a
// descendant of the process may hold the pipe open. Where files have no
// deadlines, on Windows, the end of the process's job closes the pipe.
func (o *output) expire() {
	_ = o.file.SetReadDeadline(time.Now().Add(drainTimeout))
}

// Read ends with io.EOF, also when the time is over and the pipe is empty.
func (o *output) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) && o.late.Load() < maxAfterlife {
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
