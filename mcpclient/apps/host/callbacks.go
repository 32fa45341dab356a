package host

import (
	"errors"

	"github.com/mcpchain/mcpchain/internal/guard"
)

// maxCallbacks is how many calls of the host's functions may wait for their turn, besides
// those for requests. What a view logs beyond is left out.
const maxCallbacks = 256

// callback is a call of a function of the host.
type callback struct {
	method string // of the view's message
	run    func()
}

// tell has a function of the host called, if there is one, after the calls that wait. A call
// that still waits for the same method is replaced if latest is true: the function then
// hears the last of several.
func (s *Session) tell(method string, latest bool, f func()) {
	if f == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if latest {
		for i := range s.callbacks {
			if s.callbacks[i].method == method {
				s.callbacks[i].run = f
				return
			}
		}
	} else if len(s.callbacks) >= maxCallbacks {
		return
	}
	s.callLocked(method, f)
}

// callLocked queues a call.
func (s *Session) callLocked(method string, f func()) {
	s.callbacks = append(s.callbacks, callback{method, f})
	select {
	case s.called <- struct{}{}:
	default:
	}
}

// call makes the calls that wait, one after the other, until the session ends. The view's messages
// are read meanwhile, so a function may wait for an answer of the view.
func (s *Session) call() {
	for s.life.Err() == nil {
		s.mu.Lock()
		var next callback
		if len(s.callbacks) > 0 {
			next, s.callbacks = s.callbacks[0], s.callbacks[1:]
		}
		s.mu.Unlock()
		if next.run == nil {
			select {
			case <-s.called:
			case <-s.life.Done():
			}
			continue
		}
		s.guarded(next.method, func() error { next.run(); return nil })
	}
}

// guarded runs code of the host. A panic is logged with its stack.
func (s *Session) guarded(method string, f func() error) error {
	err := guard.Run(method, f)
	if p, ok := errors.AsType[*guard.PanicError](err); ok {
		s.opts.Logger.Error(p.Error(), "stack", string(p.Stack))
	}
	return err
}
