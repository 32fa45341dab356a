package stdio

import (
	"sync"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// skippedLines remembers the latest of the lines that are not messages, and shows each to an observer.
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

// setObserver sets the function to call with each line from now on, and calls it with the latest one.
func (s *skippedLines) setObserver(onSkip func(line string)) {
	s.mu.Lock()
	s.onSkip = onSkip
	latest := s.latest
	s.mu.Unlock()
	if latest != "" {
		onSkip(latest)
	}
}

func (s *skippedLines) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}
