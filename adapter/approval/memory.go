package approval

import (
	"context"
	"fmt"
	"maps"
	"sync"
)

// maxDecisions bounds the decisions in a [Memory] or a directory.
const maxDecisions = 10_000

var errFull = fmt.Errorf("%d decisions are already remembered", maxDecisions)

// Memory is a [Store] in memory, which keeps at most 10,000 decisions and refuses more. The zero
// value is empty.
type Memory struct {
	mu        sync.Mutex
	decisions map[Key]Decision
}

// Recall implements [Store].
func (s *Memory) Recall(ctx context.Context, key Key) (d Decision, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, found = s.decisions[key]
	return d, found, nil
}

// Remember implements [Store].
func (s *Memory) Remember(ctx context.Context, key Key, d Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.decisions[key]; !known && len(s.decisions) >= maxDecisions {
		return errFull
	}
	if s.decisions == nil {
		s.decisions = map[Key]Decision{}
	}
	s.decisions[key] = d
	return nil
}

// Forget implements [Store].
func (s *Memory) Forget(ctx context.Context, user, server string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.decisions, func(key Key, _ Decision) bool { return key.matches(user, server) })
	return nil
}
