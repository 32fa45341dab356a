package storetest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

func (t *trial) put(lease record.Lease, name string, data []byte) {
	t.Helper()
	given := bytes.Clone(data)
	t.wantError("put "+name, t.store.PutBlob(t.Context(), lease, name, given), nil)
	clear(given) // the store has its own copy
	t.wantBlob(lease.Key, name, data)
}

func (t *trial) wantBlob(key run.Key, name string, want []byte) {
	t.Helper()
	got, err := t.store.Blob(t.Context(), key, name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("blob %q of %q: got %d bytes %.40q and %v, want %d bytes %.40q", name, key, len(got), got, err, len(want), want)
	}
}

func (t *trial) wantBlobs(key run.Key, want ...string) {
	t.Helper()
	got, err := t.store.Blobs(t.Context(), key)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("blobs of %q: got %q and %v, want %q", key, got, err, want)
	}
}

func blobsKept(t *trial) {
	d, lease := t.begin(held, ledgertest.Note("first"))
	t.wantBlobs(one)
	t.put(lease, "b", []byte("two"))
	t.put(lease, "a-1", nil)
	t.put(lease, "b", []byte("\x00\n two again"))
	t.wantBlobs(one, "a-1", "b")
	other := run.Key{Tenant: "other", ID: one.ID}
	t.put(t.create(begin(other, ledgertest.Note("first")), held), "b", []byte("another's"))
	t.wantBlob(one, "b", []byte("\x00\n two again"))
	t.wantBlobs(other, "b")
	t.wantError("a blob that is not there", errorOf(t.store.Blob(t.Context(), one, "c")), record.ErrNotFound)
	t.wantError("a blob of no run", errorOf(t.store.Blob(t.Context(), run.Key{ID: "nobody"}, "b")), record.ErrNotFound)
	t.wantError("a name that is a path", errorOf(t.store.Blob(t.Context(), one, "../b")), record.ErrNotFound)
	t.wantLog(d)
}

func blobsFenced(t *trial) {
	_, first := t.begin(expired, ledgertest.Note("first"))
	t.put(first, "a", []byte("of the first"))
	second := t.acquire(one, held)
	t.wantError("put of a holder that was replaced", t.store.PutBlob(t.Context(), first, "a", []byte("late")), record.ErrConflict)
	t.wantBlob(one, "a", []byte("of the first"))
	t.put(second, "a", []byte("of the second"))
	nobody := record.Lease{Key: run.Key{ID: "nobody"}, Epoch: 1}
	t.wantError("put to no run", t.store.PutBlob(t.Context(), nobody, "a", nil), record.ErrConflict)
}

func blobsBounded(t *trial) {
	lease := t.create(begin(one, ledgertest.Note("first")), held)
	for _, name := range []string{"", "A", "a/b", "..", "a b", string(bytes.Repeat([]byte("x"), 65))} {
		if err := t.store.PutBlob(t.Context(), lease, name, nil); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
	data := make([]byte, ledger.MaxBlob+2<<10)
	t.wantError("a blob that is too large", t.store.PutBlob(t.Context(), lease, "a", data), record.ErrTooLarge)
	data = data[:ledger.MaxBlob-4<<10]
	for _, name := range []string{"a", "b", "c", "d"} {
		t.wantError("put "+name, t.store.PutBlob(t.Context(), lease, name, data), nil)
	}
	t.wantError("a blob that is too much for the run", t.store.PutBlob(t.Context(), lease, "e", data), record.ErrTooLarge)
	t.wantError("instead of another one", t.store.PutBlob(t.Context(), lease, "d", data), nil)
	t.wantBlobs(one, "a", "b", "c", "d")
}

// Tenant tests the bound on the blobs of a tenant. Each call of open opens an empty store; grow
// makes the blob "a" of a run count as that many bytes, and returns the store with which the
// test continues.
func Tenant(t *testing.T, open func(t *testing.T) (store record.Store, grow func(key run.Key, size int64) record.Store)) {
	store, grow := open(t)
	tr := &trial{T: t, store: store}
	full, beside, other := run.Key{Tenant: "full", ID: "a"}, run.Key{Tenant: "full", ID: "b"}, run.Key{Tenant: "other", ID: "a"}
	tr.put(tr.create(begin(full, ledgertest.Note("first")), held), "a", []byte("small"))
	tr.store = grow(full, 4<<30-1<<10)
	data := make([]byte, 2<<10)
	lease := tr.create(begin(beside, ledgertest.Note("first")), held)
	tr.wantError("a blob that is too much for the tenant", tr.store.PutBlob(t.Context(), lease, "b", data), record.ErrTooLarge)
	tr.wantBlobs(beside)
	tr.put(lease, "b", data[:16])
	tr.put(tr.create(begin(other, ledgertest.Note("first")), held), "b", data)
	tr.wantError("delete", tr.store.Delete(t.Context(), full), nil)
	tr.put(lease, "b", data)
}

func blobsDeleted(t *trial) {
	lease := t.create(begin(one, ledgertest.Note("first")), held)
	t.put(lease, "a", []byte("gone"))
	two := run.Key{ID: "two"}
	t.put(t.create(begin(two, ledgertest.Note("first")), held), "a", []byte("stays"))
	t.ok(t.store.Delete(t.Context(), one))
	t.wantBlobs(one)
	t.wantError("put to a deleted run", t.store.PutBlob(t.Context(), lease, "a", nil), record.ErrConflict)
	t.create(begin(one, ledgertest.Note("again")), held)
	t.wantBlobs(one)
	t.wantError("a blob of the run before", errorOf(t.store.Blob(t.Context(), one, "a")), record.ErrNotFound)
	t.wantBlob(two, "a", []byte("stays"))
}

func blobsMoved(t *trial) {
	data := bytes.Repeat([]byte("<long>\n"), 1<<10)
	part := run.Part{Type: run.PartResult, ID: "c", Name: "read", Text: "cut", Kept: &run.Kept{
		Handle: "r1", Tool: "read", Kind: "text", Size: len(data), Digest: ledger.DigestOf(data),
	}}
	d := begin(one,
		&ledger.Called{},
		&ledger.Responded{
			Message: run.Message{Role: run.RoleAssistant, Parts: []run.Part{{Type: run.PartCall, ID: "c", Name: "read"}}},
			Calls:   []ledger.Call{{ID: "c", Key: "k", Name: "read", At: ledger.CallProposed}},
		},
		&ledger.Intent{Call: "c"},
		&ledger.Outcome{Call: "c", Result: part},
	)
	lease := t.create(d, expired)
	wantBad := func(what string) {
		t.Helper()
		n := 0
		for _, err := range record.Verify(t.Context(), t.store, record.Query{AllTenants: true}) {
			t.wantError(what, err, record.ErrCorrupt)
			n++
		}
		if n != 1 {
			t.Errorf("%s: got %d bad runs, want 1", what, n)
		}
	}
	wantBad("a kept result is missing")
	t.put(lease, "r1", data[1:])
	wantBad("a kept result is another one")
	t.put(lease, "r1", data)
	t.move(one)
	t.wantLog(d)
	t.wantBlob(one, "r1", data)
	t.wantSound()
}
