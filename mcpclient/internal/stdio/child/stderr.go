package child

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
)

const (
	maxExcerpt   = 2 << 10
	maxHead      = maxExcerpt / 2
	stderrBuffer = 1 << 10
	forwardQueue = 16 // chunks of at most stderrBuffer

	// stderrPause is the silence that separates two messages of a program.
	stderrPause = time.Second

	// stallTimeout bounds the process's wait for a blocked writer.
	stallTimeout = time.Second
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

// excerpt keeps the last lines written to it. If much is written at once, it keeps the first lines,
// too: a dying program says why before it prints a stack.
type excerpt struct {
	mu    sync.Mutex
	tail  []byte    // grows to twice maxExcerpt
	cut   bool      // something before tail was dropped
	head  []byte    // first bytes since the last pause, at most maxHead
	size  int       // bytes since the last pause
	wrote time.Time // when write was last called
}

func (e *excerpt) write(b []byte, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Sub(e.wrote) > stderrPause {
		e.head, e.size = e.head[:0], 0
	}
	e.wrote = now
	e.size += len(b)
	e.head = append(e.head, b[:min(len(b), maxHead-len(e.head))]...)
	if len(b) > maxExcerpt {
		b, e.tail, e.cut = b[len(b)-maxExcerpt:], e.tail[:0], true
	}
	if over := len(e.tail) + len(b) - 2*maxExcerpt; over > 0 {
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-maxExcerpt:]...)
		e.cut = true
	}
	e.tail = append(e.tail, b...)
}

// String returns at most maxExcerpt bytes, whole lines where there are any,
// without control characters. A line of "…" stands for the omitted middle.
func (e *excerpt) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	tail := bytes.TrimRight(e.tail, "\r\n")
	if e.size <= maxExcerpt {
		return printable(lastLines(tail, maxExcerpt, e.cut))
	}
	head := e.head
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i]
	}
	first := printable(head) + "\n…\n"
	return first + printable(lastLines(tail, maxExcerpt-len(first), true))
}

// lastLines returns at most limit bytes from the end of b. If cut is set, b begins in the middle of a line.
func lastLines(b []byte, limit int, cut bool) []byte {
	if len(b) > limit {
		b, cut = b[len(b)-limit:], true
	}
	if cut {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return b
}

func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), ""))
}
