package streamable

import (
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
)

// group counts operations in progress. Unlike a sync.WaitGroup it allows a wait with a limit.
type group struct {
	mu   sync.Mutex
	size int
	idle chan struct{} // closed when size is 0; nil if no goroutine waits
}

// Go runs fn on a goroutine of the group.
func (g *group) Go(fn func()) {
	g.add()
	go func() {
		defer g.done()
		fn()
	}()
}

func (g *group) add() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.size++
}

func (g *group) done() {
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

// whenIdle returns a channel that is closed once no operation is in progress.
func (g *group) whenIdle() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.size == 0 {
		idle := make(chan struct{})
		close(idle)
		return idle
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	return g.idle
}

// wait waits until no operation is in progress, for at most d.
func (g *group) wait(d time.Duration) { await.Closed(g.whenIdle(), d) }
