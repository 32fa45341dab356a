package transport

import (
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// skip takes a line for noise.
func (l *lineReader) skip(line []byte) {
	text := excerpt.Cut(string(line[:min(len(line), excerpt.Max+1)]))
	l.mu.Lock()
	l.noisy++
	l.lastNoise = text
	skipped := l.skipped
	l.mu.Unlock()
	if skipped != nil {
		skipped(text)
	}
}

// noise tells how many lines were no messages, and the last of them.
func (l *lineReader) noise() (n int, last string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.noisy, l.lastNoise
}

// noise tells how many lines were no messages, and the last of them.
func (s *stream) noise() (n int, last string) { return s.lines.noise() }

// noiseError is what went wrong on a connection on which there was noise.
type noiseError struct {
	error
	lines int
	last  string
}

func (e *noiseError) Error() string {
	skipped := fmt.Sprintf("; lines skipped because they are no JSON-RPC messages: %d, the last: %q", e.lines, e.last)
	if ended, ok := e.error.(*ProcessError); ok { // which ends with text of the server
		return ended.with(skipped)
	}
	return e.error.Error() + skipped
}

func (e *noiseError) Unwrap() error { return e.error }

// OnSkip implements [Skipper].
func (s *stream) OnSkip(skipped func(line string)) {
	l := &s.lines
	l.mu.Lock()
	l.skipped = skipped
	n, last := l.noisy, l.lastNoise
	l.mu.Unlock()
	if n > 0 {
		skipped(last)
	}
}
