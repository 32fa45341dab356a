package transport

import (
	"fmt"
	"sync"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// skippedLines remembers the lines of a server that are not messages.
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
	return &SkippedError{err, s.count, s.latest}
}

// SkippedError is the error of a connection on which the server wrote lines that are not
// messages. A program that is not a server, or writes its log there, is often the reason.
type SkippedError struct {
	Err    error
	Count  int    // of the lines
	Latest string // the last of them, at most 1 KiB
}

// Error is the text of Err with the count and the last line.
func (e *SkippedError) Error() string {
	skipped := fmt.Sprintf("; lines skipped because they are not JSON-RPC messages: %d, the last: %q", e.Count, e.Latest)
	if longer, ok := e.Err.(interface{ with(more string) string }); ok { // its text ends with what the server wrote
		return longer.with(skipped)
	}
	return e.Err.Error() + skipped
}

// Unwrap returns Err.
func (e *SkippedError) Unwrap() error { return e.Err }
