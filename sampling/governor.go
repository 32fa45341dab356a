package sampling

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Limits bound what servers can spend. They hold however many requests come at
// once, and with a reviewer as well as without.
type Limits struct {
	// MaxTokens bounds one reply; a request for more is lowered to it. Default
	// 4,096.
	MaxTokens int

	// Requests bounds the requests within any Window that get past the checks,
	// whatever becomes of them; further ones are refused. One may take up to four
	// completions: a model that fails to call a required tool, or calls one in a
	// way that makes no sense, gets a second chance. Default 50.
	Requests int

	// Window is the time that Requests is for. Default 1 h.
	Window time.Duration

	// Concurrent bounds the requests that are reviewed or answered at the same
	// time; further ones wait. Default 4.
	Concurrent int

	// InputBytes bounds one request: its text, its media, its tools and their
	// results, and 16 bytes for each message and each block. Larger ones are
	// refused. Default 4 MiB.
	InputBytes int
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.MaxTokens, 4096)
	setDefault(&l.Requests, 50)
	setDefault(&l.Window, time.Hour)
	setDefault(&l.Concurrent, 4)
	setDefault(&l.InputBytes, 4<<20)
	return l
}

func setDefault[T int | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

// governor admits requests. A request has its place reserved before anything
// is spent on it.
type governor struct {
	limits Limits
	slots  chan struct{}

	mu       sync.Mutex
	admitted []time.Time // of the latest limits.Requests requests, a ring
	oldest   int         // in admitted, once it is full
}

func newGovernor(l Limits) *governor {
	return &governor{limits: l, slots: make(chan struct{}, l.Concurrent)}
}

// admit reserves a request's place and waits for its turn. done gives the turn
// to the next.
func (g *governor) admit(ctx context.Context) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !g.reserve(time.Now()) {
		return nil, refused(fmt.Sprintf("the limit of %d requests in %v is used up", g.limits.Requests, g.limits.Window))
	}
	select {
	case g.slots <- struct{}{}:
		return func() { <-g.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// reserve takes one of the requests of the window, if any is left.
func (g *governor) reserve(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.admitted) < g.limits.Requests {
		g.admitted = append(g.admitted, now)
		return true
	}
	if now.Sub(g.admitted[g.oldest]) < g.limits.Window {
		return false
	}
	g.admitted[g.oldest] = now
	g.oldest = (g.oldest + 1) % len(g.admitted)
	return true
}
