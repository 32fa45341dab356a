package agent

import (
	"context"
	"sync"
)

// scope is the lifetime of a turn's calls. Its context ends with their first error, which may
// come from a handler.
type scope struct {
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu      sync.Mutex // guards the following field
	failure error      // of a handler
}

// fail ends the work with an error of a handler.
func (s *scope) fail(err error) error {
	s.mu.Lock()
	if s.failure == nil {
		s.failure = err
	}
	s.mu.Unlock()
	s.cancel(err)
	return err
}

// failed returns the error of a handler that ended the work.
func (s *scope) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}
