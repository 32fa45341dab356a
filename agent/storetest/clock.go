package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
)

// ClockSetBack tests a store whose clock is set back: a run whose holder has ended can be acquired,
// and the lease of a live holder stays valid. open opens an empty store and returns a function that
// sets its clock.
func ClockSetBack(t *testing.T, open func(t *testing.T) (store record.Store, set func(time.Time))) {
	store, setClock := open(t)
	tr, now := &trial{T: t, store: store}, start
	set := func(at time.Time) {
		now = at
		setClock(at)
	}
	set(now)
	tr.create(begin(one), time.Minute)
	due := func() (n int) {
		for h, err := range store.List(t.Context(), record.Query{Tenant: one.Tenant, DueAt: now}) {
			tr.ok(err)
			if h.Due(now) {
				n++
			}
		}
		return n
	}
	holds := func(what string) {
		t.Helper()
		if _, err := store.Acquire(t.Context(), one, record.Holder{TTL: time.Minute}); !errors.Is(err, record.ErrHeld) || due() != 0 {
			t.Errorf("%s: got %v and %d runs that are due, want a run that is held", what, err, due())
		}
	}
	holds("taken")
	set(now.Add(-time.Hour))
	if due() != 1 {
		t.Error("the run is not due after the clock was set back")
	}
	lease := tr.acquire(one, time.Minute)
	holds("taken again")
	tr.ok(tr.renew(lease, 2*time.Minute))
	holds("renewed")
}
