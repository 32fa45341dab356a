package ledgertest

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// Watched is a store with a function around some of its methods.
type Watched struct {
	record.Store
	Around func(*Call) error // nil: each call is made as it is
}

// Watch returns a store with a function around the methods of another one.
func Watch(store record.Store, around func(*Call) error) *Watched { return &Watched{store, around} }

// Call is a call of a store. It has the arguments, which may be changed before Do, and the results of Do,
// which may be changed after it.
type Call struct {
	Method  string       // create, load, append, reply, acquire, renew, release, list, delete or put
	Store   record.Store // below
	Do      func() error // makes the call
	Ctx     context.Context
	Key     run.Key
	Holder  record.Holder
	Lease   record.Lease
	Leases  []record.Lease // to renew
	Head    run.Head
	Records []run.Record
	Replies []run.Reply
	TTL     time.Duration
	Query   record.Query
	Log     *record.Log
	Heads   iter.Seq2[run.Head, error] // after an error of the call it is a list of that error
}

func (w *Watched) call(method string, c *Call, do func() error) error {
	c.Method, c.Store, c.Do = method, w.Store, do
	if w.Around == nil {
		return do()
	}
	return w.Around(c)
}

func (w *Watched) Create(ctx context.Context, h record.Holder, head run.Head, records []run.Record) (record.Lease, error) {
	c := &Call{Ctx: ctx, Key: head.Key, Holder: h, Head: head, Records: records}
	err := w.call("create", c, func() (err error) {
		c.Lease, err = w.Store.Create(c.Ctx, c.Holder, c.Head, c.Records)
		return err
	})
	return c.Lease, err
}

func (w *Watched) Load(ctx context.Context, key run.Key) (*record.Log, error) {
	c := &Call{Ctx: ctx, Key: key}
	err := w.call("load", c, func() (err error) { c.Log, err = w.Store.Load(c.Ctx, c.Key); return err })
	return c.Log, err
}

func (w *Watched) LoadCurrent(ctx context.Context, key run.Key) (*record.Log, error) {
	c := &Call{Ctx: ctx, Key: key}
	err := w.call("load", c, func() (err error) { c.Log, err = w.Store.LoadCurrent(c.Ctx, c.Key); return err })
	return c.Log, err
}

func (w *Watched) Append(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	c := &Call{Ctx: ctx, Key: l.Key, Lease: l, Head: head, Records: records, Replies: replies}
	return w.call("append", c, func() error { return w.Store.Append(c.Ctx, c.Lease, c.Head, c.Records, c.Replies...) })
}

func (w *Watched) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	c := &Call{Ctx: ctx, Key: key, Replies: replies}
	return w.call("reply", c, func() error { return w.Store.Reply(c.Ctx, c.Key, c.Replies) })
}

func (w *Watched) Acquire(ctx context.Context, key run.Key, h record.Holder) (record.Lease, error) {
	c := &Call{Ctx: ctx, Key: key, Holder: h}
	err := w.call("acquire", c, func() (err error) { c.Lease, err = w.Store.Acquire(c.Ctx, c.Key, c.Holder); return err })
	return c.Lease, err
}

func (w *Watched) Renew(ctx context.Context, leases []record.Lease, ttl time.Duration) []error {
	c := &Call{Ctx: ctx, Leases: leases, TTL: ttl}
	errs := make([]error, len(leases))
	err := w.call("renew", c, func() error { errs = w.Store.Renew(c.Ctx, c.Leases, c.TTL); return nil })
	if err != nil {
		errs = slices.Repeat([]error{err}, len(leases))
	}
	return errs
}

func (w *Watched) Release(ctx context.Context, l record.Lease) error {
	c := &Call{Ctx: ctx, Key: l.Key, Lease: l}
	return w.call("release", c, func() error { return w.Store.Release(c.Ctx, c.Lease) })
}

func (w *Watched) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	c := &Call{Ctx: ctx, Query: q}
	err := w.call("list", c, func() error { c.Heads = w.Store.List(c.Ctx, c.Query); return nil })
	if err != nil {
		return func(yield func(run.Head, error) bool) { yield(run.Head{}, err) }
	}
	return c.Heads
}

func (w *Watched) Delete(ctx context.Context, key run.Key) error {
	c := &Call{Ctx: ctx, Key: key}
	return w.call("delete", c, func() error { return w.Store.Delete(c.Ctx, c.Key) })
}

func (w *Watched) PutBlob(ctx context.Context, l record.Lease, name string, data []byte) error {
	c := &Call{Ctx: ctx, Key: l.Key, Lease: l}
	return w.call("put", c, func() error { return w.Store.PutBlob(c.Ctx, c.Lease, name, data) })
}
