package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

func lease(t *trial) {
	t.wantError("acquire no run", t.acquireError(one), record.ErrNotFound)
	t.wantError("renew the lease of no run", t.renew(record.Lease{Key: one, Epoch: 1}, held), record.ErrConflict)
	t.ok(t.store.Release(t.Context(), record.Lease{Key: one, Epoch: 1}))

	d, first := t.begin(held)
	t.append(first, d, ledgertest.Note("1"))
	for _, name := range []string{"one", "two"} { // the first is the holder's own
		err := errorOf(t.store.Acquire(t.Context(), one, record.Holder{Name: name, TTL: held}))
		t.wantError("acquire what is held", err, record.ErrHeld)
		e, ok := errors.AsType[*record.HeldError](err)
		if !ok {
			continue
		}
		if known := e.Holder == "one" || e.Holder == ""; !known || !e.Until.After(time.Now()) {
			t.Errorf("got a run that %q holds until %s, want \"one\" and a time to come", e.Holder, e.Until)
		}
	}
	t.ok(t.store.Release(t.Context(), first))
	second := t.acquire(one, held)
	if second.Epoch <= first.Epoch || second.Seq != d.Head().Seq || !second.Created.Equal(d.Head().Created) {
		t.Errorf("got epoch %d at record %d after %d, and a run of %v, want a higher one at %d, and %v",
			second.Epoch, second.Seq, first.Epoch, second.Created, d.Head().Seq, d.Head().Created)
	}
	t.wantHolder(second)
}

func leaseExpiry(t *trial) {
	last := t.create(begin(one), expired)
	for range 3 {
		if head := t.load(one).Head; !head.Due(time.Now()) {
			t.Errorf("got %+v, want a run that is due", head)
		}
		next := t.acquire(one, expired)
		if next.Epoch <= last.Epoch {
			t.Errorf("got epoch %d after %d", next.Epoch, last.Epoch)
		}
		last = next
	}
	t.acquire(one, held)
	t.wantHeld(one)
}

func leaseRenew(t *trial) {
	first := t.create(begin(one), expired)
	t.ok(t.renew(first, held))
	t.wantHolder(first)
	t.wantHeld(one)
	t.ok(t.renew(first, expired))
	second := t.acquire(one, expired)
	t.wantError("renew a lease that was taken over", t.renew(first, held), record.ErrConflict)
	t.ok(t.renew(second, held))
}

// leaseRenewAll renews the leases of many runs at once. Some are lost to another holder, whose lease is renewed with
// them for every other run, and some with their run.
func leaseRenewAll(t *trial) {
	var leases []record.Lease
	want := map[record.Lease]error{} // of the lost leases
	idle := map[run.Key]bool{}       // runs whose latest lease is not renewed
	for i := range 700 {
		key := run.Key{Tenant: "many", ID: fmt.Sprint("run ", i)}
		lease := t.create(begin(key), expired)
		leases = append(leases, lease)
		switch i % 100 {
		case 7:
			want[lease], idle[key] = record.ErrConflict, true
			t.acquire(key, expired)
		case 8:
			want[lease] = record.ErrConflict
			leases = append(leases, t.acquire(key, expired))
		case 9:
			want[lease] = record.ErrConflict
			t.ok(t.store.Delete(t.Context(), key))
		}
	}
	errs := t.store.Renew(t.Context(), leases, held)
	if len(errs) != len(leases) {
		t.Fatalf("got %d results, want %d", len(errs), len(leases))
	}
	for i, err := range errs {
		t.wantError("renew "+leases[i].Key.ID, err, want[leases[i]])
	}
	for _, head := range t.heads(record.Query{Tenant: "many"}) {
		if isHeld := head.HeldUntil.After(time.Now()); isHeld == idle[head.Key] {
			t.Errorf("%s: got a lease until %s, want that it was renewed: %t", head.Key.ID, head.HeldUntil, !idle[head.Key])
		}
	}
	if got := t.store.Renew(t.Context(), nil, held); len(got) != 0 {
		t.Errorf("no leases: got %v", got)
	}
}

// leaseStarved checks that leases are renewed in time beside constant work on many runs: none
// is lost, and nobody else can acquire a run.
func leaseStarved(t *trial) {
	const runs, appends, ttl = 48, 30, 30 * time.Second
	var leases []record.Lease
	var work sync.WaitGroup
	for i := range runs {
		d := begin(run.Key{Tenant: "many", ID: fmt.Sprint("run ", i)})
		lease := t.create(d, ttl)
		leases = append(leases, lease)
		work.Go(func() {
			for range appends {
				records := d.Add(ledgertest.Note("more"))
				if err := t.store.Append(t.Context(), lease, d.Head(), records); err != nil {
					t.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	defer work.Wait()
	over := make(chan struct{})
	go func() {
		work.Wait()
		close(over)
	}()
	for working := true; working; {
		select {
		case <-over:
			working = false
		default:
		}
		ctx, stop := context.WithTimeout(t.Context(), ttl/3)
		for _, err := range t.store.Renew(ctx, leases, ttl) {
			t.ok(err)
		}
		stop()
		t.wantHeld(leases[0].Key)
	}
	for _, lease := range leases {
		if got := t.load(lease.Key).Head; got.Epoch != lease.Epoch || got.Seq != lease.Seq+appends {
			t.Errorf("got %d records of holder %d, want %d of %d", got.Seq, got.Epoch, lease.Seq+appends, lease.Epoch)
		}
	}
}

func (t *trial) renew(lease record.Lease, ttl time.Duration) error {
	return t.store.Renew(t.Context(), []record.Lease{lease}, ttl)[0]
}

func leaseRelease(t *trial) {
	d, first := t.begin(held)
	t.ok(t.store.Release(t.Context(), first))
	t.ok(t.store.Release(t.Context(), first))
	if got := t.load(one).Head; !got.HeldUntil.IsZero() {
		t.Errorf("got a run held until %s, want one that is not held", got.HeldUntil)
	}
	second := t.acquire(one, held)
	t.ok(t.store.Release(t.Context(), first))
	t.wantHeld(one)
	t.append(second, d, ledgertest.Note("1"))
	t.wantLog(d)
}

// leaseWakesUp checks that a holder that was stopped can append nothing once another one has
// continued.
func leaseWakesUp(t *trial) {
	d, first := t.begin(expired, opened("a")...)
	stopped := begin(one, opened("a")...)
	records := stopped.Add(ledgertest.Note("by the first"))

	second := t.acquire(one, held)
	t.wantError("append before the second", t.store.Append(t.Context(), first, stopped.Head(), records), record.ErrConflict)
	t.append(second, d, ledgertest.Note("by the second"))
	t.wantError("append after the second", t.store.Append(t.Context(), first, stopped.Head(), records), record.ErrConflict)
	late := ledgertest.Of(d.Records)
	records = late.Add(ledgertest.Note("by the first"))
	t.wantError("append what follows", t.store.Append(t.Context(), first, late.Head(), records), record.ErrConflict)
	t.wantError("renew a lease that was taken over", t.renew(first, held), record.ErrConflict)
	t.ok(t.store.Release(t.Context(), first))
	t.wantLog(d)
	t.wantHolder(second)
}

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
