package sampling

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// governor admits requests and keeps the accounts.
type governor struct {
	limits Limits

	mu         sync.Mutex // guards the accounts and their contents
	allServers *account
	servers    map[string]*account
	calls      map[callKey]*account
}

func newGovernor(l Limits) *governor {
	return &governor{
		limits: l, allServers: newAccount("all servers", l.Total, l.Window),
		servers: map[string]*account{}, calls: map[callKey]*account{},
	}
}

// ticket is an admitted request.
type ticket struct {
	governor  *governor
	charge    *charge
	accounts  []*account // narrowest first
	nested    bool
	heldSlots []*account // accounts in which this request holds a slot
	bill      bill
}

// admit counts a request and reserves an upper bound of its cost. The caller closes the ticket.
func (g *governor) admit(q *requester, reserved usage) (*ticket, error) {
	if q.depth > maxDepth {
		return nil, newRefusal(kindDepth, fmt.Sprintf("a request within %d others", q.depth-1))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	t := &ticket{governor: g, charge: &charge{at: now, reserved: reserved, open: true}, nested: q.depth > 1}
	if q.chargeKey != (callKey{}) {
		call := newAccount("one call", g.limits.PerCall, 0)
		t.accounts = append(t.accounts, openAccount(g.calls, q.chargeKey, now, g.limits.Window, call))
	}
	server := newAccount("one server", g.limits.PerServer, g.limits.Window)
	t.accounts = append(t.accounts, openAccount(g.servers, q.key, now, g.limits.Window, server), g.allServers)
	for _, a := range t.accounts {
		if err := a.check(now, t.charge); err != nil {
			return nil, err
		}
	}
	for _, a := range t.accounts {
		a.charges = append(a.charges, t.charge)
	}
	return t, nil
}

// maxDepth bounds requests within requests: a reviewer may call a server to
// decide on a request, and a request of that server has depth 2.
const maxDepth = 2

// wait waits for a slot in each account that limits concurrency. A nested request uses
// the slots of its parent, because the parent waits for it.
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
			t.heldSlots = append(t.heldSlots, a)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// reserve changes the reservation for the next completion. After an error nothing more may be
// spent: the account of the context may have lost its reservation.
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
		if err := a.check(time.Now(), t.charge); err != nil {
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

// usage returns the cost of the request so far.
func (t *ticket) usage() usage {
	t.governor.mu.Lock()
	defer t.governor.mu.Unlock()
	return t.charge.spent
}

// close releases the slots and the rest of the reservation.
func (t *ticket) close() {
	for _, a := range t.heldSlots {
		<-a.slots
	}
	t.bill.settle("", usage{})
	t.governor.mu.Lock()
	defer t.governor.mu.Unlock()
	t.charge.open, t.charge.reserved = false, usage{}
}
