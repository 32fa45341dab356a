package stdio

import (
	"sync"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
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
	return &transport.SkippedError{Err: err, Count: s.count, Latest: s.latest}
}
