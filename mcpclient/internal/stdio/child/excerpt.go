package child

import (
	"bytes"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	maxExcerpt  = 2 << 10
	maxHead     = maxExcerpt / 2
	stderrPause = time.Second // the silence that separates two messages of a program
)

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
