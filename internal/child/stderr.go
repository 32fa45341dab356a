package child

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	maxTail      = 2 << 10
	stderrBuffer = 1 << 10
	forwardQueue = 16 // chunks of at most stderrBuffer

	// stallTimeout is how long a writer may take nothing before the process no
	// longer waits for it.
	stallTimeout = time.Second
)

// sip reads the standard error once, for the tail, and reports whether there may
// be more. Its buffer is on the stack, which is small while nothing is read.
func (p *Process) sip() (more bool) {
	var buf [stderrBuffer]byte
	n, err := p.stderr.Read(buf[:])
	p.tail.write(buf[:n])
	return err == nil
}

// drain reads the standard error until it ends, keeps the tail, and forwards
// to w unless that is nil. It closes drained when all was read.
func (p *Process) drain(w io.Writer, drained chan<- struct{}) {
	var f *forwarder
	if w != nil {
		f = newForwarder(w)
		// What is queued gets as long as a step of stopping; a Write that does
		// not return by then is left to itself.
		defer f.close(p.stopTimeout)
	}
	defer close(drained)
	buf := make([]byte, stderrBuffer)
	for {
		n, err := p.stderr.Read(buf)
		if n > 0 {
			p.tail.write(buf[:n])
			if f != nil {
				f.forward(buf[:n])
			}
		}
		if err != nil {
			return
		}
	}
}

// forwarder hands chunks to a writer that may be slow, stuck or broken.
type forwarder struct {
	queue chan []byte
	ended chan struct{} // closed when the writer gets nothing more
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

// forward queues a copy of b. It waits for room once, and from then on drops
// what finds none until there is room again.
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

// notice says what was dropped, if anything was.
func (f *forwarder) notice() []byte {
	if f.lost == 0 {
		return nil
	}
	return fmt.Appendf(nil, "\n[%d bytes of stderr lost: the writer is too slow]\n", f.lost)
}

// close waits for the writer to take what is queued, but not longer than d.
func (f *forwarder) close(d time.Duration) {
	if f.lost > 0 {
		select {
		case f.queue <- f.notice():
		default:
		}
	}
	close(f.queue)
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-f.ended:
	case <-late.C:
	}
}

// tail keeps the last lines of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte // grows to twice maxTail
	cut bool   // something before buf was dropped
}

func (t *tail) write(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(b) > maxTail {
		b, t.buf, t.cut = b[len(b)-maxTail:], t.buf[:0], true
	}
	if over := len(t.buf) + len(b) - 2*maxTail; over > 0 {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-maxTail:]...)
		t.cut = true
	}
	t.buf = append(t.buf, b...)
}

// String returns at most maxTail bytes, whole lines where there are any.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, cut := bytes.TrimRight(t.buf, "\r\n"), t.cut
	if len(b) > maxTail {
		b, cut = b[len(b)-maxTail:], true
	}
	if cut {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), ""))
}
