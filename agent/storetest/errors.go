package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// namesRun checks that the errors of all methods contain the id of the run once.
func namesRun(t *trial) {
	key := run.Key{Tenant: "acme", ID: "run-4711"}
	d := begin(key, opened("a", "b")...)
	none := record.Lease{Key: key, Epoch: 1}
	fails := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: got no error", what)
		} else if n := strings.Count(err.Error(), key.ID); n != 1 {
			t.Errorf("%s: got %q, which names the run %d times, want once", what, err, n)
		}
	}
	_, err := t.store.Load(t.Context(), key)
	fails("load no run", err)
	_, err = t.store.Acquire(t.Context(), key, record.Holder{TTL: held})
	fails("acquire no run", err)
	fails("answer no run", t.store.Reply(t.Context(), key, []run.Reply{yes("a")}))
	fails("append to no run", t.store.Append(t.Context(), none, d.head(), d.records, yes("a")))
	fails("renew the lease of no run", t.store.Renew(t.Context(), none, held))
	_, err = t.store.Create(t.Context(), record.Holder{}, d.head(), nil)
	fails("create without records", err)

	lease := t.create(d, held)
	_, err = t.store.Create(t.Context(), record.Holder{}, d.head(), d.records)
	fails("create again", err)
	_, err = t.store.Acquire(t.Context(), key, record.Holder{TTL: held})
	fails("acquire what is held", err)
	t.reply(d, yes("a"))
	fails("another answer", t.store.Reply(t.Context(), key, []run.Reply{no("a")}))
	fails("answer no question", t.store.Reply(t.Context(), key, []run.Reply{yes("c")}))

	records := d.next(said("1"))
	fails("append another answer", t.store.Append(t.Context(), lease, d.head(), records, no("a")))
	fails("append an answer to no question", t.store.Append(t.Context(), lease, d.head(), records, yes("c")))
	other := record.Lease{Key: key, Epoch: lease.Epoch + 1}
	fails("append of another epoch", t.store.Append(t.Context(), other, d.head(), records))
	fails("append no records", t.store.Append(t.Context(), lease, d.head(), nil))
	behind := d.next(said("2"))
	fails("append behind what is missing", t.store.Append(t.Context(), lease, d.head(), behind))
	fails("append what is not in order", t.store.Append(t.Context(), lease, d.head(), []run.Record{behind[0], records[0]}))
	fails("renew the lease of another epoch", t.store.Renew(t.Context(), other, held))

	ctx, cancel := context.WithDeadline(t.Context(), time.Time{})
	defer cancel()
	_, err = t.store.Create(ctx, record.Holder{}, d.head(), d.records)
	fails("create too late", err)
	_, err = t.store.Load(ctx, key)
	fails("load too late", err)
	fails("append too late", t.store.Append(ctx, lease, d.head(), records, yes("b")))
	fails("answer too late", t.store.Reply(ctx, key, []run.Reply{yes("b")}))
	_, err = t.store.Acquire(ctx, key, record.Holder{TTL: held})
	fails("acquire too late", err)
	fails("renew too late", t.store.Renew(ctx, lease, held))
	fails("release too late", t.store.Release(ctx, lease))
	fails("delete too late", t.store.Delete(ctx, key))
}
