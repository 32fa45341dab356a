package agent_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// watched is a store with a function around its methods.
type watched struct {
	record.Store
	around func(c *storeCall) error
}

// storeCall is a call of a store.
type storeCall struct {
	ctx     context.Context
	method  string       // create, append, reply, load, acquire, renew, release, list or put
	records []run.Record // of an append
	replies []run.Reply
	do      func() error // makes the call
}

// make makes the call.
func (c *storeCall) make() error { return c.do() }

func (w *watched) Create(ctx context.Context, h record.Holder, head run.Head, records []run.Record) (lease record.Lease, err error) {
	err = w.around(&storeCall{ctx: ctx, method: "create", do: func() error { lease, err = w.Store.Create(ctx, h, head, records); return err }})
	return lease, err
}

func (w *watched) Append(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	return w.around(&storeCall{ctx, "append", records, replies, func() error { return w.Store.Append(ctx, l, head, records, replies...) }})
}

func (w *watched) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	return w.around(&storeCall{ctx: ctx, method: "reply", replies: replies, do: func() error { return w.Store.Reply(ctx, key, replies) }})
}

func (w *watched) Load(ctx context.Context, key run.Key) (log *record.Log, err error) {
	err = w.around(&storeCall{ctx: ctx, method: "load", do: func() error { log, err = w.Store.Load(ctx, key); return err }})
	return log, err
}

func (w *watched) Acquire(ctx context.Context, key run.Key, h record.Holder) (lease record.Lease, err error) {
	err = w.around(&storeCall{ctx: ctx, method: "acquire", do: func() error { lease, err = w.Store.Acquire(ctx, key, h); return err }})
	return lease, err
}

func (w *watched) Renew(ctx context.Context, l record.Lease, ttl time.Duration) error {
	return w.around(&storeCall{ctx: ctx, method: "renew", do: func() error { return w.Store.Renew(context.WithoutCancel(ctx), l, ttl) }})
}

func (w *watched) Release(ctx context.Context, l record.Lease) error {
	return w.around(&storeCall{ctx: ctx, method: "release", do: func() error { return w.Store.Release(ctx, l) }})
}

func (w *watched) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	var heads iter.Seq2[run.Head, error]
	if err := w.around(&storeCall{ctx: ctx, method: "list", do: func() error { heads = w.Store.List(ctx, q); return nil }}); err != nil {
		return func(yield func(run.Head, error) bool) { yield(run.Head{}, err) }
	}
	return heads
}

func (w *watched) PutBlob(ctx context.Context, l record.Lease, name string, data []byte) error {
	return w.around(&storeCall{ctx: ctx, method: "put", do: func() error { return record.BlobsOf(w.Store).PutBlob(ctx, l, name, data) }})
}

func (w *watched) Blob(ctx context.Context, key run.Key, name string) ([]byte, error) {
	return record.BlobsOf(w.Store).Blob(ctx, key, name)
}

func (w *watched) Blobs(ctx context.Context, key run.Key) ([]string, error) {
	return record.BlobsOf(w.Store).Blobs(ctx, key)
}

// together is a store that renews the leases of a process together, and says renewAll then.
type together struct{ *watched }

func (w together) RenewAll(ctx context.Context, leases []record.Lease, ttl time.Duration) (lost []record.Lease, err error) {
	err = w.around(&storeCall{ctx: ctx, method: "renewAll", do: func() error {
		lost, err = w.Store.(record.BatchRenewer).RenewAll(context.WithoutCancel(ctx), leases, ttl)
		return err
	}})
	return lost, err
}

// changesOf are the changes of a type in records.
func changesOf[C ledger.Change](records []run.Record) (all []C) {
	for _, r := range records {
		if c, ok := ledger.ChangeOf(r).(C); ok {
			all = append(all, c)
		}
	}
	return all
}

// Errors that do not pass: nothing is tried again.
var (
	errDead = fmt.Errorf("the process has died: %w", record.ErrTooLarge)
	errFull = fmt.Errorf("disk full: %w", record.ErrTooLarge)
)

// dying is the store of a process that dies at a write, before or after it.
type dying struct {
	watched
	at   int                         // number of the write; 0: it lives
	keep bool                        // the write is kept
	die  func(context.Context) error // at that write and at later ones; nil: the error is errDead

	writes atomic.Int64
}

// in has the process write to a store.
func (d *dying) in(store record.Store) *dying {
	d.watched = watched{store, d.write}
	return d
}

func (d *dying) write(c *storeCall) error {
	n := int(d.writes.Load())
	switch c.method {
	case "create", "append", "reply", "put":
		n = int(d.writes.Add(1))
		if n == d.at && d.keep {
			_ = c.do() // nobody learns of it
		}
	case "release":
		if d.die != nil {
			return c.do()
		}
	default:
		return c.do()
	}
	switch {
	case d.at == 0 || n < d.at:
		return c.do()
	case d.die != nil:
		return d.die(c.ctx)
	}
	return errDead
}
