package sampling

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"
)

// Limits bound the spending of all servers together. A field that is 0 has its default, and [New] refuses a
// negative one. They hold for any number
// of concurrent requests, with and without a reviewer.
//
// The upper bound of a request is reserved before the reviewer or the model is
// asked: one token for each byte of its text, and its maxTokens. Afterwards the
// real cost replaces the reservation: the host's count, or an estimate if the
// count is missing or cannot be true. The reply of an attempt that failed
// midway has an unknown cost; it counts as maxTokens.
type Limits struct {
	// MaxTokens bounds one reply; a request for more is lowered to it. Default
	// 4,096.
	MaxTokens int

	// InputBytes bounds one request: its text, its media, its tools and their
	// results, and 16 bytes for each message and each block. It also bounds the
	// request with its tools in the model's dialect. Larger requests are refused.
	// Default 4 MiB.
	InputBytes int

	// All bounds all servers together. Default: 50 requests and 1,000,000 tokens within any Window, 4 requests at the same
	// time, no other limit.
	All Budget

	// Window is the period of the limits. Default 1 h.
	Window time.Duration

	// Server bounds each server, in addition. Default for each field: Share of
	// that of All.
	Server Budget

	// Share is one server's largest part of All, from 0 to 1. The rest is left for other servers. Default 0.5.
	Share float64

	// Call bounds the requests in each call, however long it takes, requests in
	// nested calls included. The connection identifies the call. On a legacy
	// connection with several calls under way the call that [Options.Source] names does, if it names one.
	// Default: 20 requests.
	Call Budget
}

// Budget bounds requests. A field that is 0 has the default that [Limits] names, and no limit in a [Policy].
type Budget struct {
	// Requests bounds the valid requests within any Window, whatever their
	// outcome; more are refused. A request may take two completions: if a model
	// fails to call a required tool, or calls it wrongly, it gets a second chance.
	Requests int

	// Tokens bounds the tokens of requests and replies within any Window.
	Tokens int64

	// Cost bounds the cost within any Window, in millionths of each currency's unit:
	// {"USD": 500_000} is half a dollar. [Options.Prices] must have a price for every
	// model, in one of these currencies.
	Cost map[string]int64

	// Concurrent bounds the requests that are reviewed or answered at the same
	// time; more requests wait.
	Concurrent int
}

// check refuses negative limits: 0 is the default, and nothing is unbounded.
func (l Limits) check() error {
	if !(l.Share >= 0 && l.Share <= 1) {
		return fmt.Errorf("Options.Limits.Share is %v; give 0 to 1", l.Share)
	}
	for _, one := range []struct {
		name     string
		negative bool
	}{
		{"MaxTokens", l.MaxTokens < 0}, {"InputBytes", l.InputBytes < 0}, {"Window", l.Window < 0},
		{"All", l.All.negative()}, {"Server", l.Server.negative()}, {"Call", l.Call.negative()},
	} {
		if one.negative {
			return fmt.Errorf("Options.Limits.%s is negative; give a positive value, or 0 for the default", one.name)
		}
	}
	return nil
}

func (b Budget) negative() bool {
	return b.Requests < 0 || b.Tokens < 0 || negativeCost(b.Cost) || b.Concurrent < 0
}

func negativeCost(limits map[string]int64) bool {
	for _, micro := range limits {
		if micro < 0 {
			return true
		}
	}
	return false
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.MaxTokens, 4096)
	setDefault(&l.InputBytes, 4<<20)
	setDefault(&l.All.Requests, 50)
	setDefault(&l.All.Tokens, 1_000_000)
	setDefault(&l.Window, time.Hour)
	setDefault(&l.All.Concurrent, 4)
	setDefault(&l.Call.Requests, 20)
	setDefault(&l.Share, 0.5)
	setDefault(&l.Server.Requests, l.part(l.All.Requests))
	setDefault(&l.Server.Concurrent, l.part(l.All.Concurrent))
	setDefault(&l.Server.Tokens, int64(math.Ceil(l.Share*float64(l.All.Tokens))))
	if l.Server.Cost == nil && l.All.Cost != nil {
		l.Server.Cost = make(map[string]int64, len(l.All.Cost))
		for currency, micro := range l.All.Cost {
			l.Server.Cost[currency] = int64(math.Ceil(l.Share * float64(micro)))
		}
	}
	return l
}

// part is one server's share of n, rounded up.
func (l *Limits) part(n int) int { return int(math.Ceil(l.Share * float64(n))) }

func setDefault[T int | int64 | float64 | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

// governor admits requests, and keeps their accounts.
type governor struct {
	limits Limits

	mu      sync.Mutex // guards the accounts and their contents
	total   *account
	servers map[string]*account
	calls   map[callKey]*account
}

func newGovernor(l Limits) *governor {
	return &governor{
		limits: l, total: newAccount("all servers", l.All, l.Window),
		servers: map[string]*account{}, calls: map[callKey]*account{},
	}
}

// ticket is an admitted request.
type ticket struct {
	governor *governor
	charge   *charge
	accounts []*account // narrowest first
	nested   bool
	held     []*account // accounts with a slot taken by this request
	bill     bill
}

// admit reserves a place and an upper bound of the cost for a request. The
// caller closes the ticket.
func (g *governor) admit(w *who, reserved usage) (*ticket, error) {
	if w.depth > maxDepth {
		return nil, refused(kindDepth, fmt.Sprintf("a request within %d others", w.depth-1))
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

// wait waits for the request's turn. A nested request shares the turn of its
// parent, since the parent waits for it.
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

// reserve changes the reservation for the next completion.
func (t *ticket) reserve(model string, u usage) error {
	t.bill.settle(model, usage{})
	if err := t.bill.reserve(model, u); err != nil {
		return err
	}
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

// spend replaces the reservation by the cost of a completion.
func (t *ticket) spend(model string, u usage) {
	t.bill.settle(model, u)
	t.governor.mu.Lock()
	defer t.governor.mu.Unlock()
	t.charge.spent = t.charge.spent.plus(u)
	t.charge.reserved = usage{}
}

// usage is the cost of the request so far.
func (t *ticket) usage() usage {
	t.governor.mu.Lock()
	defer t.governor.mu.Unlock()
	return t.charge.spent
}

// close gives the turn to the next request and frees the rest of the
// reservation.
func (t *ticket) close() {
	for _, a := range t.held {
		<-a.slots
	}
	t.bill.settle("", usage{})
	t.governor.mu.Lock()
	defer t.governor.mu.Unlock()
	t.charge.open, t.charge.reserved = false, usage{}
}

// maxDepth bounds requests within requests: a reviewer may call a server to
// decide on a request, and a request of that server has depth 2.
const maxDepth = 2
