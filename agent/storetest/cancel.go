package storetest

import (
	"context"
	"maps"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

func (t *trial) cancelRequests(want map[run.Key]uint64) {
	t.Helper()
	got, err := t.store.CancelRequests(t.Context())
	t.ok(err)
	if !maps.Equal(got, want) {
		t.Errorf("got the cancel requests %v, want %v", got, want)
	}
}

func (t *trial) requestCancel(key run.Key) {
	t.Helper()
	t.ok(t.store.RequestCancel(t.Context(), key))
}

// cancelRequest checks that a request stays while holders of the run change, and ends with the run.
func cancelRequest(t *trial) {
	t.wantError("request to cancel no run", t.store.RequestCancel(t.Context(), one), record.ErrNotFound)
	t.cancelRequests(nil)
	other := run.Key{Tenant: "other", ID: one.ID}
	d, apart := begin(one), begin(other)
	lease := t.create(d, expired)
	t.create(apart, held)
	at := d.State.Seq
	t.requestCancel(one)
	t.cancelRequests(map[run.Key]uint64{one: at})
	t.requestCancel(other)
	t.wantHeld(other)
	t.append(lease, d, ledgertest.Note("1"))
	lease = t.acquire(one, held)
	both := map[run.Key]uint64{one: at, other: apart.State.Seq}
	t.cancelRequests(both)
	t.append(lease, d, ledgertest.Note("2"))
	t.requestCancel(one)
	both[one] = d.State.Seq
	t.cancelRequests(both)
	t.wantLog(d)
	t.append(lease, d, &ledger.Ended{Status: run.StatusCancelled})
	delete(both, one)
	t.cancelRequests(both)
	t.ok(t.store.Delete(t.Context(), other))
	t.create(begin(other), held) // created at the same time, as an imported run is
	t.cancelRequests(nil)
}

// cancelRequestOfEarlierInput checks that a request for an earlier input is void.
func cancelRequestOfEarlierInput(t *trial) {
	d, lease := t.begin(held)
	t.requestCancel(one)
	t.append(lease, d, &ledger.Ended{Status: run.StatusCancelled})
	end := d.State.Seq
	t.requestCancel(one) // the run has ended
	t.append(lease, d, &ledger.Said{})
	got, err := t.store.CancelRequests(t.Context())
	t.ok(err)
	for key, seq := range got { // a store may keep a void request
		if key != one || seq >= end {
			t.Errorf("got the request %v of record %d, want none from record %d on", key, seq, end)
		}
	}
	t.requestCancel(one)
	t.cancelRequests(map[run.Key]uint64{one: d.State.Seq})
}

// cancelRun cancels a run that nobody holds, one whose holder ends it, and one whose holder
// does not.
func cancelRun(t *trial) {
	keys := []run.Key{{ID: "idle"}, {ID: "worked on"}, {ID: "stuck"}}
	t.create(begin(keys[0]), expired)
	for range 2 { // the second call changes nothing
		t.ok(record.CancelRun(t.Context(), t.store, keys[0]))
	}
	t.wantCancelled(keys[0])

	d := begin(keys[1])
	lease := t.create(d, held)
	done, _ := t.cancelling(d)
	t.append(lease, d, &ledger.Ended{Status: run.StatusCancelled})
	t.ok(t.store.Release(t.Context(), lease))
	t.wantError("cancel what is worked on", <-done, nil)
	t.wantCancelled(keys[1])

	d = begin(keys[2])
	lease = t.create(d, held)
	done, stop := t.cancelling(d)
	stop()
	t.wantError("cancel what is stuck", <-done, record.ErrHeld)
	t.cancelRequests(map[run.Key]uint64{keys[2]: d.State.Seq})
	t.ok(t.store.Release(t.Context(), lease))
	t.ok(record.CancelRun(t.Context(), t.store, keys[2]))
	t.wantCancelled(keys[2])
	t.cancelRequests(nil)
}

// cancelling cancels a held run, and returns when its holder can see the request.
func (t *trial) cancelling(d *ledgertest.Draft) (done <-chan error, stop func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	ended := make(chan error, 1)
	go func() { ended <- record.CancelRun(ctx, t.store, draftKey(d)) }()
	for {
		switch got, err := t.store.CancelRequests(t.Context()); {
		case err != nil:
			t.Fatal(err)
		case len(got) > 0:
			return ended, stop
		}
	}
}

func (t *trial) wantCancelled(key run.Key) {
	t.Helper()
	if got := t.load(key).Head.Status; got != run.StatusCancelled {
		t.Errorf("run %q: got %s, want %s", key.ID, got, run.StatusCancelled)
	}
}
