package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// Damage tests that a damaged run affects no other run, for each method. Each call of open
// opens an empty store; damage changes what the store wrote last for a run.
func Damage(t *testing.T, open func(t *testing.T) (store record.Store, damage func(key run.Key))) {
	bad, good := run.Key{Tenant: "evil", ID: "bad"}, run.Key{Tenant: "good", ID: "0"}
	prepared := func(t *testing.T) *trial {
		store, damage := open(t)
		tr := &trial{T: t, store: store}
		d := begin(bad, opened("a")...)
		lease := tr.create(d, expired)
		tr.bad = lease
		for n := range 9 {
			tr.create(begin(run.Key{Tenant: "good", ID: fmt.Sprint(n)}, opened("a")...), expired)
		}
		tr.append(lease, d, said("the last"))
		damage(bad)
		return tr
	}
	for _, c := range []struct {
		name string
		test func(*trial)
	}{
		{"load", func(t *trial) {
			_, err := t.store.Load(t.Context(), bad)
			t.wants("load", err, record.ErrCorrupt)
			t.load(good)
		}},
		{"list", func(t *trial) {
			t.listsBeside("all", record.Query{AllTenants: true}, 9, bad)
			t.listsBeside("of a status", record.Query{AllTenants: true, Status: run.StatusRunning}, 9, bad)
			t.listsBeside("due", record.Query{AllTenants: true, DueAt: time.Now()}, 9, bad)
			t.listsBeside("of its tenant", record.Query{Tenant: "evil"}, 0, bad)
			t.listsBeside("of another tenant", record.Query{Tenant: "good"}, 9, run.Key{})
			t.listsBeside("of an id of another tenant", record.Query{Tenant: "good", ID: "3"}, 1, run.Key{})
		}},
		{"open questions", func(t *trial) {
			for tenant, want := range map[string][2]int{"good": {9, 0}, "evil": {0, 1}, "": {9, 1}} {
				var got [2]int
				for question, err := range record.OpenQuestions(t.Context(), t.store, record.Query{Tenant: tenant, AllTenants: tenant == ""}) {
					switch {
					case err != nil:
						t.Fatalf("tenant %q: %v", tenant, err)
					case question.Err != nil && question.Key == bad:
						got[1]++
					case question.Question != nil:
						got[0]++
					}
				}
				if got != want {
					t.Errorf("tenant %q: got %d questions and %d damaged runs, want %d", tenant, got[0], got[1], want)
				}
			}
		}},
		{"what changes it", func(t *trial) {
			if err := t.store.Reply(t.Context(), bad, []run.Reply{yes("a")}); err == nil {
				t.Error("an answer to what cannot be read was kept")
			}
			t.wants("answer", t.store.Reply(t.Context(), good, []run.Reply{yes("a")}), nil)
			if lease, err := t.store.Acquire(t.Context(), bad, record.Holder{TTL: held}); err == nil && lease.Created.IsZero() {
				t.Error("a run was taken whose creation is not known")
			}
			lease := t.acquire(good, held)
			t.wants("renew", t.store.Renew(t.Context(), lease, held), nil)
			t.wants("release", t.store.Release(t.Context(), lease), nil)
		}},
		{"append", func(t *trial) {
			before, err := t.store.Acquire(t.Context(), bad, record.Holder{TTL: held})
			d := begin(bad, opened("a")...)
			d.next(said("the last"))
			if err != nil { // the holder may continue
				before = t.bad
			}
			records := d.next(said("more"))
			if err := t.store.Append(t.Context(), before, d.head(), records); err == nil {
				t.has(d) // the new head has repaired it
			}
			other := begin(good, opened("a")...)
			t.append(t.acquire(good, held), other, said("x"))
			t.has(other)
		}},
		{"leases beside it", func(t *trial) {
			lease := t.acquire(good, expired)
			if all, ok := t.store.(record.BatchRenewer); ok {
				lost, err := all.RenewAll(t.Context(), []record.Lease{t.bad, lease}, held)
				if err != nil || slices.Contains(lost, lease) {
					t.Errorf("got the lost leases %v, %v", lost, err)
				}
			}
			_ = t.store.Renew(t.Context(), t.bad, held) // with any result
			_ = t.store.Release(t.Context(), t.bad)
			t.wants("renew", t.store.Renew(t.Context(), lease, held), nil)
			t.wants("release", t.store.Release(t.Context(), lease), nil)
		}},
		{"create", func(t *trial) {
			d := begin(bad)
			_, err := t.store.Create(t.Context(), record.Holder{TTL: held}, d.head(), d.records)
			t.wants("create what is there", err, record.ErrExists)
			t.create(begin(run.Key{Tenant: "evil", ID: "next"}), held)
			t.load(run.Key{Tenant: "evil", ID: "next"})
		}},
		{"delete", func(t *trial) {
			t.wants("delete", t.store.Delete(t.Context(), bad), nil)
			t.hasNone(bad)
			t.listsBeside("all", record.Query{AllTenants: true}, 9, run.Key{})
			t.create(begin(bad), held)
			t.load(bad)
		}},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(prepared(t)) })
	}
}

// listsBeside checks the number of runs that a query selects beside a damaged one. A zero key
// means that the damaged run is not in the list.
func (t *trial) listsBeside(what string, q record.Query, want int, damaged run.Key) {
	t.Helper()
	var got int
	var found run.Key
	for head, err := range t.store.List(t.Context(), q) {
		d, ok := errors.AsType[*record.DamagedError](err)
		switch {
		case ok && errors.Is(err, record.ErrCorrupt) && head.Key == d.Key && found == run.Key{}:
			found = d.Key
		case err != nil:
			t.Fatalf("%s: %v", what, err)
		default:
			got++
		}
	}
	if got != want || found != damaged {
		t.Errorf("%s: got %d runs beside the damaged %v, want %d beside %v", what, got, found, want, damaged)
	}
}
