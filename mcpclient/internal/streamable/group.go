package streamable

import (
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
)

// group counts what is under way, so that its end can be waited for.
type group struct {
	mu   sync.Mutex
	size int
	idle chan struct{} // closed when nothing is; nil if no goroutine waits
}

// Go runs fn on a goroutine of the group.
func (g *group) Go(fn func()) {
	g.enter()
	go func() {
		defer g.leave()
		fn()
	}()
}

func (g *group) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.size++
}

func (g *group) leave() {
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

// whenIdle is closed once nothing is under way.
func (g *group) whenIdle() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.size == 0 {
		done := make(chan struct{})
		close(done)
		return done
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	return g.idle
}

// wait waits at most d until nothing is under way.
func (g *group) wait(d time.Duration) {
	if g.count() == 0 {
		return
	}
	await.Closed(g.whenIdle(), d)
}
