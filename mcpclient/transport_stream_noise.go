package mcpclient

import (
	"context"
	"fmt"
)

// skip takes a line for noise.
func (l *lineReader) skip(line []byte) {
	text := cut(string(line[:min(len(line), maxQuoted+1)]))
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
	return fmt.Sprintf("%v\nlines skipped because they are no JSON-RPC messages: %d, the last: %q", e.error, e.lines, e.last)
}

func (e *noiseError) Unwrap() error { return e.error }

// noiseKey marks the context of a dial with a func(line string) that is told of the
// lines which the connection skips.
type noiseKey struct{}

// hearing is a context to dial with, so that the client warns of noise, also of what
// a transport of the host's reads while it dials.
func (l *link) hearing(ctx context.Context, c *Client) context.Context {
	return context.WithValue(ctx, noiseKey{}, func(line string) {
		l.tolerated(c, "skipped a line that is no JSON-RPC message", "text", l.scrub(line))
	})
}

// heardBy is who the context of a dial names, nil for nobody.
func heardBy(ctx context.Context) func(line string) {
	skipped, _ := ctx.Value(noiseKey{}).(func(string))
	return skipped
}
