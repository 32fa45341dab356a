package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/mcpchain/mcpchain/internal/bound"
)

// maxCallbacks bounds the waiting calls of the host's functions, except those for requests.
// Further log messages of the view are dropped.
const maxCallbacks = 256

// callback is a call of a function of the host.
type callback struct {
	method string // the method of the view's message
	run    func()
}

// callbacks calls functions of the host one at a time.
type callbacks struct {
	logger *slog.Logger
	called chan struct{} // there may be something to call

	mu      sync.Mutex
	waiting []callback
}

// queueLatest queues a call. It replaces a waiting call for the same method, so that the function
// gets only the last of several.
func (c *callbacks) queueLatest(method string, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.waiting {
		if c.waiting[i].method == method {
			c.waiting[i].run = f
			return
		}
	}
	c.queueLocked(method, f)
}

// queueOrDrop queues a call, unless maxCallbacks wait already.
func (c *callbacks) queueOrDrop(method string, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) < maxCallbacks {
		c.queueLocked(method, f)
	}
}

// queue queues a call regardless of how many wait.
func (c *callbacks) queue(method string, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queueLocked(method, f)
}

func (c *callbacks) queueLocked(method string, f func()) {
	c.waiting = append(c.waiting, callback{method, f})
	select {
	case c.called <- struct{}{}:
	default:
	}
}

// next returns the next call. Its run is nil if none waits.
func (c *callbacks) next() (next callback) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) > 0 {
		next = c.waiting[0]
		c.waiting[0] = callback{} // the array outlives the slice
		c.waiting = c.waiting[1:]
	}
	return next
}

// run makes the waiting calls, one after the other, until ctx ends. The view's messages are
// read meanwhile, so a function may wait for an answer of the view.
func (c *callbacks) run(ctx context.Context) {
	for ctx.Err() == nil {
		next := c.next()
		if next.run == nil {
			select {
			case <-c.called:
			case <-ctx.Done():
			}
			continue
		}
		_ = callHost(c.logger, next.method, func() error { next.run(); return nil })
	}
}

// callHost calls a function of the host. A panic is logged with its stack.
func callHost(logger *slog.Logger, method string, f func() error) error {
	err := bound.Run(method, f)
	if p, ok := errors.AsType[*bound.PanicError](err); ok {
		logger.Error(p.Error(), "stack", string(p.Stack))
	}
	return err
}
