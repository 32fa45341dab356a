package sampling

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"
)

// Limits bound what servers can spend, all of them together. They hold however
// many requests come at once, and with a reviewer as well as without.
//
// A request has what it may come to reserved before anybody is asked about it:
// a token for each byte of its text, and its maxTokens. What it has come to is
// put in the place of that afterwards: by the count of the model's host, or by
// estimate where that does not count or what it counts cannot be true. What the
// reply of an attempt has cost that failed midway is not known, so that it counts
// as one of maxTokens.
type Limits struct {
	// MaxTokens bounds one reply; a request for more is lowered to it. Default
	// 4,096.
	MaxTokens int

	// InputBytes bounds one request: its text, its media, its tools and their
	// results, and 16 bytes for each message and each block. It holds once more for
	// the tools as they are written for the model. Larger ones are refused. Default
	// 4 MiB.
	InputBytes int

	// Requests bounds the requests within any Window that get past the checks,
	// whatever becomes of them; further ones are refused. One may take two
	// completions: a model that fails to call a required tool, or calls one in a
	// way that makes no sense, gets a second chance. Default 50.
	Requests int

	// PerMinute bounds the same within any minute. Default Requests.
	PerMinute int

	// Tokens bounds the tokens within any Window, of requests and replies.
	// Default 1,000,000.
	Tokens int64

	// Cost bounds the cost within any Window, in the currency of the catalogue,
	// which must give the price of every model. Default 0: none.
	Cost float64

	// Window is the time that the limits are for. Default 1 h.
	Window time.Duration

	// Concurrent bounds the requests that are reviewed or answered at the same
	// time; further ones wait. Default 4.
	Concurrent int

	// Depth bounds requests within requests: one that a server makes in a call
	// that a reviewer makes to decide on another has depth 2. Default 2.
	Depth int

	// Server bounds each server, in addition. Default: of what is 0 there, Share.
	Server Budget

	// Share is the part of Requests, PerMinute, Tokens, Cost and Concurrent that
	// one server can have, so that it does not use up what is for all. At 1 it can
	// have everything. Default 0.5.
	Share float64

	// Call bounds the requests in each call, however long it takes, those in
	// calls within it included. Which call it is tells the connection; when several
	// are under way on one of the legacy era, [Source.Call] does if it can.
	// Default: 20 requests.
	Call Budget
}

// Budget bounds a part of the requests, as the fields of [Limits] with the same
// names bound all of them. A zero is no limit, except in [Limits.Server].
type Budget struct {
	Requests   int
	PerMinute  int
	Tokens     int64
	Cost       float64
	Concurrent int
}

// check refuses what is no limit: 0 is the default, and nothing is without bounds.
func (l Limits) check() error {
	if !(l.Share >= 0 && l.Share <= 1) {
		return fmt.Errorf("Limits.Share: got %v, want 0 to 1", l.Share)
	}
	for _, one := range []struct {
		name     string
		negative bool
	}{
		{"MaxTokens", l.MaxTokens < 0}, {"InputBytes", l.InputBytes < 0}, {"Window", l.Window < 0}, {"Depth", l.Depth < 0},
		{"Requests", l.Requests < 0}, {"PerMinute", l.PerMinute < 0}, {"Tokens", l.Tokens < 0}, {"Cost", !(l.Cost >= 0)},
		{"Concurrent", l.Concurrent < 0}, {"Server", l.Server.negative()}, {"Call", l.Call.negative()},
	} {
		if one.negative {
			return fmt.Errorf("negative Limits.%s: 0 is its default", one.name)
		}
	}
	return nil
}

func (b Budget) negative() bool {
	return b.Requests < 0 || b.PerMinute < 0 || b.Tokens < 0 || !(b.Cost >= 0) || b.Concurrent < 0
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.MaxTokens, 4096)
	setDefault(&l.InputBytes, 4<<20)
	setDefault(&l.Requests, 50)
	setDefault(&l.Tokens, 1_000_000)
	setDefault(&l.Window, time.Hour)
	setDefault(&l.Concurrent, 4)
	setDefault(&l.Depth, 2)
	setDefault(&l.Call.Requests, 20)
	setDefault(&l.Share, 0.5)
	setDefault(&l.Server.Requests, l.part(l.Requests))
	setDefault(&l.Server.PerMinute, l.part(l.PerMinute)) // 0 is no limit but that of Requests
	setDefault(&l.PerMinute, l.Requests)
	setDefault(&l.Server.Concurrent, l.part(l.Concurrent))
	setDefault(&l.Server.Tokens, int64(math.Ceil(l.Share*float64(l.Tokens))))
	setDefault(&l.Server.Cost, l.Share*l.Cost)
	return l
}

// part is the share of a number, rounded up.
func (l *Limits) part(n int) int { return int(math.Ceil(l.Share * float64(n))) }

func setDefault[T int | int64 | float64 | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

func (l *Limits) total() Budget {
	return Budget{Requests: l.Requests, PerMinute: l.PerMinute, Tokens: l.Tokens, Cost: l.Cost, Concurrent: l.Concurrent}
}

// governor admits requests, and keeps the accounts that they are charged to.
type governor struct {
	limits Limits

	mu      sync.Mutex // guards the accounts and what is in them
	total   *account
	servers map[string]*account
	calls   map[callKey]*account
}

func newGovernor(l Limits) *governor {
	return &governor{
		limits: l, total: newAccount("all servers", l.total(), l.Window),
		servers: map[string]*account{}, calls: map[callKey]*account{},
	}
}

// ticket is a request that was admitted.
type ticket struct {
	governor *governor
	charge   *charge
	accounts []*account // the narrowest first
	nested   bool
	held     []*account // whose turn it has
}

// admit reserves a place for a request, and what it may come to. The ticket is
// to be closed.
func (g *governor) admit(w *who, reserved Usage) (*ticket, error) {
	if w.depth > g.limits.Depth {
		return nil, refused(KindDepth, fmt.Sprintf("a request within %d others", w.depth-1))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	t := &ticket{governor: g, charge: &charge{at: now, reserved: reserved, open: true}, nested: w.depth > 1}
	if w.charge != (callKey{}) {
		t.accounts = append(t.accounts, open(g.calls, w.charge, now, func() *account {
			return newAccount("one call", g.limits.Call, 0)
		}, g.limits.Window))
	}
	t.accounts = append(t.accounts, open(g.servers, w.key, now, func() *account {
		return newAccount("one server", w.budget(&g.limits), g.limits.Window)
	}, g.limits.Window), g.total)
	for _, a := range t.accounts {
		if err := a.takes(now, t.charge, 1); err != nil {
			return nil, err
		}
	}
	for _, a := range t.accounts {
		a.charges = append(a.charges, t.charge)
	}
	return t, nil
}

// wait waits for the request's turn. One within another has its turn with it,
// since the other waits for it.
func (t *ticket) wait(ctx context.Context) error {
	if t.nested {
		return ctx.Err()
	}
	for _, a := range t.accounts {
		if a.slots == nil {
			continue
		}
		select {
		case a.slots <- struct{}{}:
			t.held = append(t.held, a)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// reserve changes what the next completion may come to.
func (t *ticket) reserve(u Usage) error {
	t.governor.mu.Lock()
	defer t.governor.mu.Unlock()
	before := t.charge.reserved
	t.charge.reserved = u
	for _, a := range t.accounts {
		if err := a.takes(time.Now(), t.charge, 0); err != nil {
			t.charge.reserved = before
			return err
		}
	}
	return nil
}

// spend puts what a completion came to in the place of what was reserved.
func (t *ticket) spend(u Usage) {
	t.governor.mu.Lock()
	defer t.governor.mu.Unlock()
	t.charge.spent = t.charge.spent.plus(u)
	t.charge.reserved = Usage{}
}

// usage is what the request has come to.
func (t *ticket) usage() Usage {
	t.governor.mu.Lock()
	defer t.governor.mu.Unlock()
	return t.charge.spent
}

// close gives the turn to the next request and frees what was not spent.
func (t *ticket) close() {
	for _, a := range t.held {
		<-a.slots
	}
	t.governor.mu.Lock()
	defer t.governor.mu.Unlock()
	t.charge.open, t.charge.reserved = false, Usage{}
}
