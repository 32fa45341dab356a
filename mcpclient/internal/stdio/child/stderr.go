package child

import (
	"fmt"
	"io"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
)

const (
	stderrBuffer = 1 << 10
	forwardQueue = 16          // chunks of at most stderrBuffer
	stallTimeout = time.Second // bounds the process's wait for a blocked writer
)

// drain reads the standard error to its end, keeps the excerpt, and forwards to
// w unless w is nil. At the end it closes drained.
func (p *Process) drain(w io.Writer, drained chan<- struct{}) {
	var f *forwarder
	if w != nil {
		f = newForwarder(w)
		// The writer gets StopTimeout for the queued output; drain does not wait longer for a Write.
		defer f.close(p.stopTimeout)
	}
	defer close(drained)
	for p.readStderr(f) {
		continue
	}
}

// readStderr reads the standard error once, and returns false at its end. f may be nil.
func (p *Process) readStderr(f *forwarder) (more bool) {
	buf := make([]byte, stderrBuffer) // not kept while a process is silent
	n, err := p.stderr.Read(buf)
	if n > 0 {
		p.excerpt.write(buf[:n], time.Now())
		if f != nil {
			f.forward(buf[:n])
		}
	}
	return err == nil
}

// forwarder passes chunks to a writer that may be slow, stuck or broken.
type forwarder struct {
	queue chan []byte
	ended chan struct{} // closed after the last write
	lost  int           // bytes dropped since the writer stalled
}

func newForwarder(w io.Writer) *forwarder {
	f := &forwarder{queue: make(chan []byte, forwardQueue), ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		for chunk := range f.queue {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}()
	return f
}

// forward queues a copy of b. It waits for room once; then it drops chunks until there is room again.
func (f *forwarder) forward(b []byte) {
	chunk := append(f.notice(), b...)
	select {
	case f.queue <- chunk:
		f.lost = 0
		return
	case <-f.ended:
		return
	default:
	}
	if f.lost == 0 {
		stall := time.NewTimer(stallTimeout)
		defer stall.Stop()
		select {
		case f.queue <- chunk:
			return
		case <-f.ended:
			return
		case <-stall.C:
		}
	}
	f.lost += len(b)
}

func (f *forwarder) notice() []byte {
	if f.lost == 0 {
		return nil
	}
	return fmt.Appendf(nil, "\n[%d bytes of stderr lost: the writer is too slow]\n", f.lost)
}

func (f *forwarder) close(d time.Duration) {
	if f.lost > 0 {
		select {
		case f.queue <- f.notice():
		default:
		}
	}
	close(f.queue)
	await.Closed(f.ended, d)
}
