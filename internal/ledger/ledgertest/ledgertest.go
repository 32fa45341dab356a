// Package ledgertest makes the records of runs for tests of stores and of what reads them.
package ledgertest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Start is the time of the first record of a draft of [New].
var Start = time.Date(2026, 11, 1, 12, 0, 0, 123456789, time.UTC)

// Draft is a run as its holder knows it. The methods that add records panic if a change contradicts
// the state.
type Draft struct {
	State   *ledger.State
	Records []run.Record  // records that were added
	Begin   time.Time     // time of the first record
	Pace    time.Duration // time from each record to the next
}

// New returns a draft with the beginning of a run. Its records are a second apart.
func New(key run.Key, changes ...ledger.Change) *Draft {
	d := Since(Start, &ledger.Begun{ID: key.ID, Tenant: key.Tenant, Agent: ledger.AgentName{Name: "helper"}})
	d.Pace = time.Second
	d.Add(changes...)
	return d
}

// Since returns a draft with the beginning of a run. All of its records have the same time. It sets
// the version of begun.
func Since(begin time.Time, begun *ledger.Begun, changes ...ledger.Change) *Draft {
	begun.V = ledger.Version
	d := &Draft{State: new(ledger.State), Begin: begin}
	d.Add(begun)
	d.Add(changes...)
	return d
}

// Of returns a draft that continues one of [New] with these records.
func Of(records []run.Record) *Draft {
	state, err := ledger.StateOf(records)
	if err != nil {
		panic(err)
	}
	return &Draft{State: state, Records: slices.Clip(records), Begin: Start, Pace: time.Second}
}

// Add adds changes, and returns their records.
func (d *Draft) Add(changes ...ledger.Change) []run.Record {
	first := len(d.Records)
	for _, c := range changes {
		e := ledger.Entry{Seq: d.State.Seq + 1, At: d.Begin.Add(time.Duration(d.State.Seq) * d.Pace), Change: c}
		if _, later := c.(*ledger.Unknown); later {
			d.State.Seq, d.State.Updated = e.Seq, e.At
		} else if err := ledger.Apply(d.State, e); err != nil {
			panic(err)
		}
		r, err := e.Encode()
		if err != nil {
			panic(err)
		}
		d.Records = append(d.Records, r)
	}
	return d.Records[first:]
}

// Head returns the head of the run.
func (d *Draft) Head() run.Head { return ledger.HeadOf(d.State) }

// Append adds changes to the draft and to the stored run. After an error the draft has them, too.
func (d *Draft) Append(ctx context.Context, store record.Store, lease record.Lease, changes ...ledger.Change) error {
	records := d.Add(changes...)
	return store.Append(ctx, lease, d.Head(), records)
}

// Renew renews a lease.
func Renew(ctx context.Context, store record.Store, lease record.Lease, ttl time.Duration) error {
	return store.Renew(ctx, []record.Lease{lease}, ttl)[0]
}

// Keep stores a draft, with a lease that has expired.
func Keep(t testing.TB, store record.Store, d *Draft) record.Lease {
	t.Helper()
	lease, err := store.Create(t.Context(), record.Holder{Name: "test"}, d.Head(), d.Records)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// Create stores a new run, with a lease that has expired.
func Create(t testing.TB, store record.Store, key run.Key, changes ...ledger.Change) (*Draft, record.Lease) {
	t.Helper()
	d := New(key, changes...)
	return d, Keep(t, store, d)
}

// Note returns a change that keeps a text as the variable "text".
func Note(text string) ledger.Change {
	value, _ := json.Marshal(text) // a string always marshals
	return &ledger.Noted{Vars: map[string]json.RawMessage{"text": value}}
}

// Notes returns a note n times.
func Notes(text string, n int) []ledger.Change { return slices.Repeat([]ledger.Change{Note(text)}, n) }

// Question returns a change that asks the person to fill in a form.
func Question(id string) ledger.Change {
	return &ledger.Opened{Question: run.Question{ID: id, Kind: run.QuestionForm, Survives: true}}
}
