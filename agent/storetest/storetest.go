// Package storetest tests implementations of [record.Store]. To test a store of your own, write:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) record.Store { return newStore(t) })
//	}
//
// [Reopen] tests a restart, [ClockSetBack] a clock that is set back, [Damage] damaged runs and
// [Tenant] the bound on the blobs of a tenant.
//
// The guide docs/durability.md of the repository says what a store promises.
package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// Run tests all that a Store promises. Each test calls open for an empty store.
func Run(t *testing.T, open func(t *testing.T) record.Store) {
	for _, c := range []struct {
		name string
		test func(*trial)
	}{
		{"create", create},
		{"create/exists", createExists},
		{"create/refused", createRefused},
		{"load", load},
		{"load/current", loadCurrent},
		{"load/current with answers", loadCurrentReplies},
		{"append", appendRecords},
		{"append/all or nothing", appendWhole},
		{"append/conflict", appendConflict},
		{"append/lost reply", appendLost},
		{"append/takeovers", appendTakeovers},
		{"append/expired lease", appendExpired},
		{"append/members of the store", appendOwnMembers},
		{"append/answers", appendReplies},
		{"append/answers refused", appendRepliesRefused},
		{"lease", lease},
		{"lease/expiry", leaseExpiry},
		{"lease/renew", leaseRenew},
		{"lease/renew all", leaseRenewAll},
		{"lease/starved", leaseStarved},
		{"lease/release", leaseRelease},
		{"lease/holder that wakes up", leaseWakesUp},
		{"cancel request", cancelRequest},
		{"cancel request/of an earlier input", cancelRequestOfEarlierInput},
		{"cancel run", cancelRun},
		{"answer", reply},
		{"answer/first wins", firstReplyCounts},
		{"answer/not asked", replyNotAsked},
		{"answer/all or none", repliesTogether},
		{"answer/closed question", replyToClosed},
		{"list", list},
		{"list/order", listOrder},
		{"list/due", listDue},
		{"list/due order", listDueOrder},
		{"list/questions", listQuestions},
		{"list/body calls the store", listBody},
		{"export and import", exportImport},
		{"prune", prune},
		{"blobs", blobsKept},
		{"blobs/fenced", blobsFenced},
		{"blobs/bounded", blobsBounded},
		{"blobs/deleted", blobsDeleted},
		{"blobs/errors name the run", blobsNameRun},
		{"blobs/export and import", blobsMoved},
		{"delete", deleteRun},
		{"delete/created again", deleteCreated},
		{"keys", keys},
		{"keys/refused", keysRefused},
		{"tenants", tenants},
		{"records/later version", laterVersion},
		{"records/odd texts", oddTexts},
		{"records/large", large},
		{"at once/create", createAtOnce},
		{"at once/append", appendAtOnce},
		{"at once/acquire", acquireAtOnce},
		{"at once/answer", replyAtOnce},
		{"at once/append answers", appendRepliesAtOnce},
		{"at once/load", loadAtOnce},
		{"context has ended", ended},
		{"errors name the run", namesRun},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(&trial{T: t, store: open(t)}) })
	}
}

// trial is a test with its store.
type trial struct {
	*testing.T
	store   record.Store
	damaged record.Lease // the lease of the damaged run, see Damage
}

// Durations of leases. A store measures them by the clock: with expired a lease has expired
// from the start, and no test lasts as long as held.
const (
	held    = time.Hour
	expired = -time.Hour // long ago, also for a store that read the clock earlier
)

var one = run.Key{Tenant: "acme", ID: "one"}

var start = ledgertest.Start

var begin = ledgertest.New

func draftKey(d *ledgertest.Draft) run.Key { return d.Head().Key }

func snapshot(d *ledgertest.Draft) ledger.Change {
	c, err := ledger.NewSnapshot(d.State)
	if err != nil {
		panic(err)
	}
	return c
}

func opened(ids ...string) (changes []ledger.Change) {
	for _, id := range ids {
		changes = append(changes, ledgertest.Question(id))
	}
	return changes
}

// begin stores the run one with the changes.
func (t *trial) begin(ttl time.Duration, changes ...ledger.Change) (*ledgertest.Draft, record.Lease) {
	t.Helper()
	d := begin(one, changes...)
	return d, t.create(d, ttl)
}

func (t *trial) create(d *ledgertest.Draft, ttl time.Duration) record.Lease {
	t.Helper()
	lease, err := t.store.Create(t.Context(), record.Holder{Name: "one", TTL: ttl}, d.Head(), d.Records)
	t.ok(err)
	if lease.Key != draftKey(d) || lease.Seq != d.Head().Seq || !lease.Created.Equal(d.Head().Created) {
		t.Fatalf("got the lease of %q of %v at record %d, want %q of %v at %d",
			lease.Key, lease.Created, lease.Seq, draftKey(d), d.Head().Created, d.Head().Seq)
	}
	return lease
}

func (t *trial) append(lease record.Lease, d *ledgertest.Draft, changes ...ledger.Change) {
	t.Helper()
	t.appendWith(lease, d, nil, changes...)
}

func (t *trial) appendWith(lease record.Lease, d *ledgertest.Draft, replies []run.Reply, changes ...ledger.Change) {
	t.Helper()
	records := d.Add(changes...)
	t.ok(t.store.Append(t.Context(), lease, d.Head(), records, replies...))
}

func (t *trial) acquire(key run.Key, ttl time.Duration) record.Lease {
	t.Helper()
	lease, err := t.store.Acquire(t.Context(), key, record.Holder{Name: "two", TTL: ttl})
	t.ok(err)
	if lease.Key != key {
		t.Fatalf("got the lease of %q, want %q", lease.Key, key)
	}
	return lease
}

func (t *trial) reply(d *ledgertest.Draft, replies ...run.Reply) {
	t.Helper()
	t.ok(t.store.Reply(t.Context(), draftKey(d), replies))
}

func (t *trial) load(key run.Key) *record.Log {
	t.Helper()
	log, err := t.store.Load(t.Context(), key)
	t.ok(err)
	return log
}

func (t *trial) wantLog(d *ledgertest.Draft, replies ...run.Reply) {
	t.Helper()
	if err := diff(t.load(draftKey(d)), d, replies); err != nil {
		t.Error(err)
	}
}

func (t *trial) wantNone(key run.Key) {
	t.Helper()
	t.wantError("load", errorOf(t.store.Load(t.Context(), key)), record.ErrNotFound)
}

// wantError checks an error. Nil means none.
func (t *trial) wantError(what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func (t *trial) wantHolder(lease record.Lease) {
	t.Helper()
	if got := t.load(lease.Key).Head; got.Epoch != lease.Epoch || !got.HeldUntil.After(time.Now()) {
		t.Errorf("got epoch %d, held until %s, want epoch %d and a time to come", got.Epoch, got.HeldUntil, lease.Epoch)
	}
}

func (t *trial) wantHeld(key run.Key) {
	t.Helper()
	t.wantError("acquire what is held", t.acquireError(key), record.ErrHeld)
}

// createError returns the error of creating the run of a draft.
func (t *trial) createError(d *ledgertest.Draft) error {
	return errorOf(t.store.Create(t.Context(), record.Holder{TTL: held}, d.Head(), d.Records))
}

// acquireError returns the error of acquiring a run.
func (t *trial) acquireError(key run.Key) error {
	return errorOf(t.store.Acquire(t.Context(), key, record.Holder{TTL: held}))
}

func errorOf[T any](_ T, err error) error { return err }

func (t *trial) ok(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func diff(log *record.Log, d *ledgertest.Draft, replies []run.Reply) error {
	if err := diffHead(log.Head, d.State, replies); err != nil {
		return err
	}
	if len(log.Records) != len(d.Records) {
		return fmt.Errorf("got %d records, want %d", len(log.Records), len(d.Records))
	}
	for i, r := range log.Records {
		if got, want := bytesOf(r), bytesOf(d.Records[i]); !bytes.Equal(got, want) {
			return fmt.Errorf("got the record %.1000s, want %.1000s", got, want)
		}
	}
	if len(log.Replies) == 0 && len(replies) == 0 {
		return nil
	}
	if got := encode(log.Replies); !bytes.Equal(got, encode(replies)) {
		return fmt.Errorf("got the answers %s, want %s", got, encode(replies))
	}
	return nil
}

// diffHead compares a head with that of a state with replies, except for what the store knows of the lease.
func diffHead(got run.Head, s *ledger.State, replies []run.Reply) error {
	want := ledger.HeadOf(s)
	want.ReplyCount = len(replies)
	if len(got.Questions) == 0 { // left out by a store that encrypts
		want.Questions = nil
	}
	got.Epoch, got.HeldUntil, got.TTL = 0, time.Time{}, 0
	if !bytes.Equal(encode(got), encode(want)) {
		return fmt.Errorf("got the head %s, want %s", encode(got), encode(want))
	}
	return nil
}

// bytesOf returns the JSON of a record, in which <, > and & are not escaped.
func bytesOf(r run.Record) []byte {
	data, err := r.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return data
}

func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// Reopen tests that a store has everything after it was closed and opened again. Each call of
// open opens the same store, and close closes it.
func Reopen(t *testing.T, open func(t *testing.T) (store record.Store, close func())) {
	s, closeStore := open(t)
	first := &trial{T: t, store: s}
	d, gone := begin(one, opened("a", "b")...), begin(run.Key{ID: "gone"})
	over := begin(run.Key{ID: "over"}, &ledger.Ended{Status: run.StatusFinished})
	first.create(d, expired)
	first.create(over, held)
	first.create(gone, held)
	lease := first.acquire(one, held)
	first.append(lease, d, ledgertest.Note("1"))
	first.reply(d, yes("a"), yes("b"))
	first.append(lease, d, replied(yes("a")))
	first.append(lease, d, &ledger.Suspended{})
	first.wantError("delete", s.Delete(t.Context(), draftKey(gone)), nil)
	before := first.load(one).Head
	closeStore()

	s, closeStore = open(t)
	defer closeStore()
	second := &trial{T: t, store: s}
	second.wantLog(d, yes("b"))
	second.wantLog(over)
	second.wantNone(draftKey(gone))
	if got := second.load(one).Head; got.Epoch != lease.Epoch || !got.HeldUntil.Equal(before.HeldUntil) {
		t.Errorf("got epoch %d, held until %s, want %d, %s", got.Epoch, got.HeldUntil, lease.Epoch, before.HeldUntil)
	}
	second.wantHeld(one)
	second.wantList("due", record.Query{AllTenants: true, DueAt: time.Now().Add(2 * held)}, "one")
	second.wantError("another answer", s.Reply(t.Context(), one, []run.Reply{no("a")}), record.ErrReplied)
	second.append(lease, d, &ledger.Woken{}, replied(yes("b")))
	second.wantLog(d)
}
