package mcpclient

import (
	"sync"
	"time"
)

// group counts what runs at the same time, so that others can wait until nothing does.
type group struct {
	mu   sync.Mutex
	size int
	idle chan struct{} // closed when size is 0 again; nil if nothing waits for that
}

// Go runs fn on a goroutine of the group.
func (g *group) Go(fn func()) {
	g.began()
	go func() {
		defer g.ended()
		fn()
	}()
}

func (g *group) began() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.size++
}

func (g *group) ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.size--; g.size == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

func (g *group) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.size
}

// wait reports whether all have ended within d.
func (g *group) wait(d time.Duration) bool { return waitFor(g.whenIdle(), d) }

// whenIdle is closed once all have ended.
func (g *group) whenIdle() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.size == 0 {
		return alreadyClosed
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	return g.idle
}

var alreadyClosed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()
