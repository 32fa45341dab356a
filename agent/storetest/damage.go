package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// The runs of Damage.
var (
	damagedKey = run.Key{Tenant: "evil", ID: "bad"}
	soundKey   = run.Key{Tenant: "good", ID: "0"}
)

// soundRuns is the number of runs of the tenant of soundKey.
const soundRuns = 9

// Damage tests that no method lets a damaged run affect another. Each call of open opens an empty
// store; damage changes what the store wrote last for a run.
func Damage(t *testing.T, open func(t *testing.T) (store record.Store, damage func(key run.Key))) {
	for _, c := range []struct {
		name string
		test func(*trial)
	}{
		{"load", damagedLoad},
		{"list", damagedList},
		{"open questions", damagedQuestions},
		{"what changes it", damagedReply},
		{"append", damagedAppend},
		{"leases beside it", damagedLeases},
		{"create", damagedCreate},
		{"delete", damagedDelete},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, damage := open(t)
			tr := &trial{T: t, store: store}
			d := begin(damagedKey, opened("a")...)
			tr.damaged = tr.create(d, expired)
			for n := range soundRuns {
				tr.create(begin(run.Key{Tenant: soundKey.Tenant, ID: fmt.Sprint(n)}, opened("a")...), expired)
			}
			tr.append(tr.damaged, d, ledgertest.Note("the last"))
			damage(damagedKey)
			c.test(tr)
		})
	}
}

func damagedLoad(t *trial) {
	t.wantError("load", errorOf(t.store.Load(t.Context(), damagedKey)), record.ErrCorrupt)
	t.load(soundKey)
}

func damagedList(t *trial) {
	t.wantListBeside("all", record.Query{AllTenants: true}, soundRuns, damagedKey)
	t.wantListBeside("of a status", record.Query{AllTenants: true, Status: run.StatusRunning}, soundRuns, damagedKey)
	t.wantListBeside("due", record.Query{AllTenants: true, DueAt: time.Now()}, soundRuns, damagedKey)
	t.wantListBeside("of its tenant", record.Query{Tenant: "evil"}, 0, damagedKey)
	t.wantListBeside("of another tenant", record.Query{Tenant: "good"}, soundRuns, run.Key{})
	t.wantListBeside("of an id of another tenant", record.Query{Tenant: "good", ID: "3"}, 1, run.Key{})
	t.wantListBeside("of another id", record.Query{AllTenants: true, ID: "3"}, 1, run.Key{})
	t.wantListBeside("of its id", record.Query{AllTenants: true, ID: "bad"}, 0, damagedKey)
}

func damagedQuestions(t *trial) {
	for tenant, want := range map[string][2]int{"good": {soundRuns, 0}, "evil": {0, 1}, "": {soundRuns, 1}} {
		var got [2]int
		for question, err := range record.OpenQuestions(t.Context(), t.store, record.Query{Tenant: tenant, AllTenants: tenant == ""}) {
			switch {
			case errors.Is(err, record.ErrDamaged) && question.Head.Key == damagedKey:
				got[1]++
			case err != nil:
				t.Fatalf("tenant %q: %v", tenant, err)
			default:
				got[0]++
			}
		}
		if got != want {
			t.Errorf("tenant %q: got %d questions and %d damaged runs, want %d", tenant, got[0], got[1], want)
		}
	}
}

func damagedReply(t *trial) {
	if err := t.store.Reply(t.Context(), damagedKey, []run.Reply{yes("a")}); err == nil {
		t.Error("an answer to what cannot be read was kept")
	}
	t.ok(t.store.Reply(t.Context(), soundKey, []run.Reply{yes("a")}))
	if lease, err := t.store.Acquire(t.Context(), damagedKey, record.Holder{TTL: held}); err == nil && lease.Created.IsZero() {
		t.Error("a run was taken whose creation is not known")
	}
	lease := t.acquire(soundKey, held)
	t.ok(t.renew(lease, held))
	t.ok(t.store.Release(t.Context(), lease))
}

// damagedAppend appends to a damaged run, which may repair it, and to another one.
func damagedAppend(t *trial) {
	before, err := t.store.Acquire(t.Context(), damagedKey, record.Holder{TTL: held})
	d := begin(damagedKey, opened("a")...)
	d.Add(ledgertest.Note("the last"))
	if err != nil { // the holder may continue
		before = t.damaged
	}
	records := d.Add(ledgertest.Note("more"))
	if err := t.store.Append(t.Context(), before, d.Head(), records); err == nil {
		t.wantLog(d) // the new head has repaired it
	}
	other := begin(soundKey, opened("a")...)
	t.append(t.acquire(soundKey, held), other, ledgertest.Note("x"))
	t.wantLog(other)
}

func damagedLeases(t *trial) {
	lease := t.acquire(soundKey, expired)
	t.ok(t.store.Renew(t.Context(), []record.Lease{t.damaged, lease}, held)[1])
	_ = t.store.Release(t.Context(), t.damaged) // with any result
	t.ok(t.store.Release(t.Context(), lease))
}

func damagedCreate(t *trial) {
	d := begin(damagedKey)
	t.wantError("create what is there", t.createError(d), record.ErrExists)
	t.create(begin(run.Key{Tenant: "evil", ID: "next"}), held)
	t.load(run.Key{Tenant: "evil", ID: "next"})
}

func damagedDelete(t *trial) {
	t.ok(t.store.Delete(t.Context(), damagedKey))
	t.wantNone(damagedKey)
	t.wantListBeside("all", record.Query{AllTenants: true}, soundRuns, run.Key{})
	t.create(begin(damagedKey), held)
	t.load(damagedKey)
}

// wantListBeside checks the number of runs that a query selects beside a damaged one. A zero key
// means that the damaged run is not in the list.
func (t *trial) wantListBeside(what string, q record.Query, want int, damaged run.Key) {
	t.Helper()
	var got int
	var found run.Key
	for head, err := range t.store.List(t.Context(), q) {
		switch {
		case errors.Is(err, record.ErrDamaged) && errors.Is(err, record.ErrCorrupt) && found == run.Key{}:
			found = head.Key
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
