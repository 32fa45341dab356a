package storetest

import (
	"context"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// namesRun checks that the errors of all methods contain the id of the run once.
func namesRun(t *trial) {
	key := run.Key{Tenant: "acme", ID: "run-4711"}
	d := begin(key, opened("a", "b")...)
	none := record.Lease{Key: key, Epoch: 1}
	t.wantNamed(key, map[string]error{
		"load no run":               errorOf(t.store.Load(t.Context(), key)),
		"acquire no run":            t.acquireError(key),
		"answer no run":             t.store.Reply(t.Context(), key, []run.Reply{yes("a")}),
		"append to no run":          t.store.Append(t.Context(), none, d.Head(), d.Records, yes("a")),
		"renew the lease of no run": t.renew(none, held),
		"request to cancel no run":  t.store.RequestCancel(t.Context(), key),
		"create without records":    errorOf(t.store.Create(t.Context(), record.Holder{}, d.Head(), nil)),
	})
	lease := t.create(d, held)
	t.reply(d, yes("a"))
	before := d.Records
	records := d.Add(ledgertest.Note("1"))
	behind := d.Add(ledgertest.Note("2"))
	other := record.Lease{Key: key, Epoch: lease.Epoch + 1}
	t.wantNamed(key, map[string]error{
		"create again":                    errorOf(t.store.Create(t.Context(), record.Holder{}, begin(key, opened("a", "b")...).Head(), before)),
		"acquire what is held":            t.acquireError(key),
		"another answer":                  t.store.Reply(t.Context(), key, []run.Reply{no("a")}),
		"answer no question":              t.store.Reply(t.Context(), key, []run.Reply{yes("c")}),
		"append another answer":           t.store.Append(t.Context(), lease, d.Head(), append(records, behind...), no("a")),
		"append an answer to no question": t.store.Append(t.Context(), lease, d.Head(), append(records, behind...), yes("c")),
		"append of another epoch":         t.store.Append(t.Context(), other, d.Head(), append(records, behind...)),
		"append no records":               t.store.Append(t.Context(), lease, d.Head(), nil),
		"append behind what is missing":   t.store.Append(t.Context(), lease, d.Head(), behind),
		"renew the lease of another":      t.renew(other, held),
		"append what is not in order":     t.store.Append(t.Context(), lease, d.Head(), []run.Record{behind[0], records[0]}),
	})
}

// blobsNameRun is namesRun for the methods of blobs, whose errors contain the name of the blob, too.
func blobsNameRun(t *trial) {
	key := run.Key{Tenant: "acme", ID: "run-4711"}
	lease := t.create(begin(key), held)
	errs := map[string]error{
		"put without a lease":    t.store.PutBlob(t.Context(), record.Lease{Key: key, Epoch: lease.Epoch + 1}, "kept-1", nil),
		"put what is too large":  t.store.PutBlob(t.Context(), lease, "kept-1", make([]byte, ledger.MaxBlob+2<<10)),
		"load what was not kept": errorOf(t.store.Blob(t.Context(), key, "kept-1")),
		"load from no run":       errorOf(t.store.Blob(t.Context(), run.Key{Tenant: "other", ID: key.ID}, "kept-1")),
	}
	for what, err := range errs {
		if err != nil && !strings.Contains(err.Error(), "kept-1") {
			t.Errorf("%s: got %q, want the name of the blob in it", what, err)
		}
	}
	errs["put without a name"] = t.store.PutBlob(t.Context(), lease, "", nil)
	t.wantNamed(key, errs)
}

// wantNamed checks that errors contain the id of a run once.
func (t *trial) wantNamed(key run.Key, errs map[string]error) {
	t.Helper()
	for what, err := range errs {
		if err == nil {
			t.Errorf("%s: got no error", what)
		} else if n := strings.Count(err.Error(), key.ID); n != 1 {
			t.Errorf("%s: got %q, which names the run %d times, want once", what, err, n)
		}
	}
}

// ended calls each method with a context that has ended.
func ended(t *trial) {
	key := run.Key{Tenant: "acme", ID: "run-4711"}
	d := begin(key, opened("a")...)
	lease := t.create(d, expired)
	before := t.load(key).Head
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	next := begin(key, opened("a")...)
	records := next.Add(ledgertest.Note("1"))
	other := begin(run.Key{ID: "run-4711"})
	errs := map[string]error{
		"create":  errorOf(t.store.Create(ctx, record.Holder{TTL: held}, other.Head(), other.Records)),
		"load":    errorOf(t.store.Load(ctx, key)),
		"append":  t.store.Append(ctx, lease, next.Head(), records, yes("a")),
		"answer":  t.store.Reply(ctx, key, []run.Reply{yes("a")}),
		"acquire": errorOf(t.store.Acquire(ctx, key, record.Holder{TTL: held})),
		"renew":   t.store.Renew(ctx, []record.Lease{lease}, held)[0],
		"release": t.store.Release(ctx, lease),
		"delete":  t.store.Delete(ctx, key),
		"cancel":  t.store.RequestCancel(ctx, key),
		"prune":   t.store.Prune(ctx, lease),

		"load what is current": errorOf(t.store.LoadCurrent(ctx, key)),
		"put a blob":           t.store.PutBlob(ctx, lease, "a", nil),
		"load a blob":          errorOf(t.store.Blob(ctx, key, "a")),
		"list blobs":           errorOf(t.store.Blobs(ctx, key)),
	}
	t.wantNamed(key, errs)
	errs["list cancel requests"] = errorOf(t.store.CancelRequests(ctx))
	pairs := 0
	for _, err := range t.store.List(ctx, record.Query{AllTenants: true}) {
		pairs++
		errs["list"] = err
	}
	if pairs != 1 {
		t.Errorf("list: got %d pairs, want an error", pairs)
	}
	for what, err := range errs {
		t.wantError(what, err, context.Canceled)
	}
	t.wantNone(draftKey(other))
	t.wantLog(d)
	t.cancelRequests(nil)
	t.wantBlobs(key)
	if got := t.load(key).Head; got.Epoch != before.Epoch || !got.HeldUntil.Equal(before.HeldUntil) {
		t.Errorf("got %+v, want the lease of %+v", got, before)
	}
}
