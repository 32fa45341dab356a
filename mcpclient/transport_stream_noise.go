package mcpclient

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// skip takes a line for noise.
func (l *lineReader) skip(line []byte) {
	text := excerpt.Cut(string(line[:min(len(line), excerpt.Max+1)]))
	l.mu.Lock()
	l.noisy++
	l.lastNoise = text
	l.mu.Unlock()
	if l.skipped != nil {
		l.skipped(text)
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

// heardBy is who is told of the lines which a connection skips that is dialed with
// this context, so that the client warns of them: nil for nobody.
func heardBy(ctx context.Context) (skipped func(line string)) {
	if d := dialingOf(ctx); d != nil {
		return d.skipped
	}
	return nil
}

func (d *dialing) skipped(line string) {
	d.link.tolerated(d.client, "skipped a line that is no JSON-RPC message", "text", d.link.scrub(line))
}
