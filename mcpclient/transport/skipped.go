package transport

import (
	"fmt"
	"sync"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// skippedLines remembers the lines of a server that are no messages.
type skippedLines struct {
	mu     sync.Mutex
	count  int
	latest string
	onSkip func(line string) // nil for none
}

func (s *skippedLines) add(line []byte) {
	text := excerpt.Cut(string(line[:min(len(line), excerpt.Max+1)]))
	s.mu.Lock()
	s.count++
	s.latest = text
	onSkip := s.onSkip
	s.mu.Unlock()
	if onSkip != nil {
		onSkip(text)
	}
}

func (s *skippedLines) observe(onSkip func(line string)) {
	s.mu.Lock()
	s.onSkip = onSkip
	count, latest := s.count, s.latest
	s.mu.Unlock()
	if count > 0 {
		onSkip(latest)
	}
}

// explain adds the skipped lines to err, if there are any.
func (s *skippedLines) explain(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == 0 {
		return err
	}
	return &skippedError{err, s.count, s.latest}
}

// skippedError is the error of a connection on which lines were skipped.
type skippedError struct {
	error
	count  int
	latest string
}

func (e *skippedError) Error() string {
	skipped := fmt.Sprintf("; lines skipped because they are no JSON-RPC messages: %d, the last: %q", e.count, e.latest)
	if ended, ok := e.error.(*ProcessError); ok { // its text ends with what the server wrote
		return ended.with(skipped)
	}
	return e.error.Error() + skipped
}

func (e *skippedError) Unwrap() error { return e.error }
