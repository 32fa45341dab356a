package stdio

import (
	"sync"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// skippedLines remembers the lines of a server that are not messages.
type skippedLines struct {
	mu     sync.Mutex
	latest string            // "" for none
	onSkip func(line string) // nil for none
}

func (s *skippedLines) add(line []byte) {
	text := excerpt.Cut(string(line[:min(len(line), excerpt.Max+1)]))
	s.mu.Lock()
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
	latest := s.latest
	s.mu.Unlock()
	if latest != "" {
		onSkip(latest)
	}
}

// last is the latest of them, "" for none.
func (s *skippedLines) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}
