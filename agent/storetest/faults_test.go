package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// call is a call of a method of a store, with its results.
type call struct {
	store   record.Store
	do      func() error // calls the store
	ctx     context.Context
	key     run.Key
	holder  record.Holder
	lease   record.Lease
	head    run.Head
	records []run.Record
	replies []run.Reply
	ttl     time.Duration
	query   record.Query
	log     *record.Log
	list    iter.Seq2[run.Head, error]
}

// present returns the lease of the present holder.
func (c *call) present() record.Lease {
	log, err := c.store.Load(c.ctx, c.key)
	if err != nil {
		return record.Lease{Key: c.key}
	}
	return record.Lease{Key: c.key, Epoch: log.Head.Epoch}
}

// on has what is done instead of calls, by the names of methods.
type on map[string]func(c *call) error

// faulty is a store with some methods replaced.
type faulty struct {
	record.Store
	on on
}

func (f *faulty) call(method string, c *call, do func() error) error {
	c.store, c.do = f.Store, do
	if instead := f.on[method]; instead != nil {
		return instead(c)
	}
	return do()
}

func (f *faulty) Create(ctx context.Context, h record.Holder, head run.Head, records []run.Record) (record.Lease, error) {
	c := &call{ctx: ctx, key: head.Key, holder: h, head: head, records: records}
	err := f.call("create", c, func() (err error) { c.lease, err = f.Store.Create(ctx, h, head, records); return err })
	return c.lease, err
}

func (f *faulty) Load(ctx context.Context, key run.Key) (*record.Log, error) {
	c := &call{ctx: ctx, key: key}
	err := f.call("load", c, func() (err error) { c.log, err = f.Store.Load(ctx, c.key); return err })
	return c.log, err
}

func (f *faulty) Append(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	c := &call{ctx: ctx, key: l.Key, lease: l, head: head, records: records, replies: replies}
	return f.call("append", c, func() error { return f.Store.Append(ctx, c.lease, c.head, c.records, c.replies...) })
}

func (f *faulty) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	c := &call{ctx: ctx, key: key, replies: replies}
	return f.call("reply", c, func() error { return f.Store.Reply(c.ctx, key, c.replies) })
}

func (f *faulty) Acquire(ctx context.Context, key run.Key, h record.Holder) (record.Lease, error) {
	c := &call{ctx: ctx, key: key, holder: h}
	err := f.call("acquire", c, func() (err error) { c.lease, err = f.Store.Acquire(ctx, key, h); return err })
	return c.lease, err
}

func (f *faulty) Renew(ctx context.Context, l record.Lease, ttl time.Duration) error {
	c := &call{ctx: ctx, key: l.Key, lease: l, ttl: ttl}
	return f.call("renew", c, func() error { return f.Store.Renew(ctx, c.lease, ttl) })
}

func (f *faulty) Release(ctx context.Context, l record.Lease) error {
	c := &call{ctx: ctx, key: l.Key, lease: l}
	return f.call("release", c, func() error { return f.Store.Release(ctx, c.lease) })
}

func (f *faulty) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	c := &call{ctx: ctx, query: q}
	_ = f.call("list", c, func() error { c.list = f.Store.List(ctx, c.query); return nil })
	return c.list
}

func (f *faulty) Delete(ctx context.Context, key run.Key) error {
	return f.call("delete", &call{ctx: ctx, key: key}, func() error { return f.Store.Delete(ctx, key) })
}

// ignoring hides an error of a method.
func ignoring(ignored error) func(c *call) error {
	return func(c *call) error {
		if err := c.do(); !errors.Is(err, ignored) {
			return err
		}
		return nil
	}
}

// before changes something before a call.
func before(change func(c *call)) func(c *call) error {
	return func(c *call) error { change(c); return c.do() }
}

// after changes the results of a call.
func after(change func(c *call)) func(c *call) error {
	return func(c *call) error { defer change(c); return c.do() }
}

// asPresent calls a method for the present holder, whoever calls.
var asPresent = before(func(c *call) { c.lease = c.present() })

// faults break one promise each. Their tests must fail.
var faults = []struct {
	name, test string
	on         on
}{
	{"creates over a run", "create/exists", on{"create": before(func(c *call) { _ = c.store.Delete(c.ctx, c.key) })}},
	{"shares its log", "load", on{"load": sharing()}},
	{"appends in parts", "append/all_or_nothing", on{"append": func(c *call) error {
		for i := range c.records {
			part := c.head
			part.Seq = c.records[i].Seq
			if err := c.store.Append(c.ctx, c.lease, part, c.records[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}}},
	{"appends at any place", "append/conflict", on{"append": func(c *call) error {
		if err := c.do(); c.lease.Epoch == 0 || !errors.Is(err, record.ErrConflict) {
			return err
		}
		return nil
	}}},
	{"takes any epoch", "lease/holder_that_wakes_up", on{"append": asPresent}},
	{"does not say when the run was created", "lease", on{"acquire": after(func(c *call) { c.lease.Created = time.Time{} })}},
	{"refuses a lease that has expired", "append/expired_lease", on{"append": func(c *call) error {
		if log, err := c.store.Load(c.ctx, c.key); err == nil && time.Now().After(log.Head.Held) {
			return record.ErrConflict
		}
		return c.do()
	}}},
	{"appends without the answers", "append/answers", on{"append": before(func(c *call) { c.replies = nil })}},
	{"keeps answers before it appends", "append/answers_refused", on{"append": func(c *call) error {
		if err := c.store.Reply(c.ctx, c.key, c.replies); err != nil {
			return err
		}
		c.replies = nil
		return c.do()
	}}},
	{"appends before it keeps answers", "append/answers_refused", on{"append": func(c *call) error {
		if err := c.store.Append(c.ctx, c.lease, c.head, c.records); err != nil {
			return err
		}
		return c.store.Reply(c.ctx, c.key, c.replies)
	}}},
	{"says nothing of the last record", "lease", on{"acquire": after(func(c *call) { c.lease.Seq = 0 })}},
	{"gives a run that is held", "lease", on{"acquire": before(func(c *call) { _ = c.store.Release(c.ctx, c.present()) })}},
	{"gives one epoch twice", "lease/expiry", on{"acquire": func(c *call) error {
		c.lease = c.present()
		return c.store.Renew(c.ctx, c.lease, c.holder.TTL)
	}}},
	{"renews any lease", "lease/renew", on{"renew": asPresent}},
	{"releases any lease", "lease/release", on{"release": asPresent}},
	{"takes any answer", "answer/first_wins", on{"reply": ignoring(record.ErrReplied)}},
	{"takes an answer without a question", "answer/not_asked", on{"reply": ignoring(run.ErrNotAsked)}},
	{"keeps some of the answers", "answer/all_or_none", on{"reply": func(c *call) error {
		for i := range c.replies {
			if err := c.store.Reply(c.ctx, c.key, c.replies[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}}},
	{"gives the answers to closed questions", "answer/closed_question", keepingReplies()},
	{"lists all tenants", "list", on{"list": before(func(c *call) { c.query.AllTenants = true })}},
	{"lists without a limit", "list/order", on{"list": before(func(c *call) { c.query.Limit = 0 })}},
	{"lists what is not due", "list/due", on{"list": before(func(c *call) { c.query.DueAt = time.Time{} })}},
	{"lists the newest of what is due", "list/due_order", on{"list": func(c *call) error {
		c.list = func(yield func(run.Head, error) bool) {
			n := 0
			for h, err := range c.store.List(c.ctx, record.Query{Tenant: c.query.Tenant, AllTenants: c.query.AllTenants}) {
				if due := c.query.DueAt.IsZero() || h.Due(c.query.DueAt); !due || c.query.Limit > 0 && n == c.query.Limit {
					continue
				}
				if n++; !yield(h, err) {
					return
				}
			}
		}
		return nil
	}}},
	{"lists with a lock", "list/body_calls_the_store", locking()},
	{"lists once", "list/body_calls_the_store", on{"list": func(c *call) error {
		heads := map[run.Key]run.Head{}
		for h, err := range c.store.List(c.ctx, c.query) {
			if err == nil {
				heads[h.Key] = h
			}
		}
		c.list = func(yield func(run.Head, error) bool) {
			for _, h := range heads {
				if !yield(h, nil) {
					return
				}
			}
		}
		return nil
	}}},
	{"deletes nothing", "delete", on{"delete": func(*call) error { return nil }}},
	{"counts epochs from 1", "delete/created_again", countingEpochs()},
	{"folds the case of keys", "keys", on{"create": func(c *call) error {
		for other := range c.store.List(c.ctx, record.Query{Tenant: c.key.Tenant}) {
			if strings.EqualFold(other.Key.ID, c.key.ID) {
				return record.ErrExists
			}
		}
		return c.do()
	}}},
	{"mixes tenants", "tenants", on{"load": func(c *call) error {
		err := c.do()
		if errors.Is(err, record.ErrNotFound) {
			c.key.Tenant = "mine"
			err = c.do()
		}
		return err
	}}},
	{"loses what it does not know", "records/later_version", on{"load": after(func(c *call) {
		if c.log != nil {
			c.log.Records = slices.DeleteFunc(c.log.Records, func(r run.Record) bool {
				_, unknown := ledger.ChangeOf(r).(*ledger.Unknown)
				return unknown
			})
		}
	})}},
	{"appends without a lock", "at_once/append", on{"append": func(c *call) error {
		if log, err := c.store.Load(c.ctx, c.key); err != nil || log.Head.Seq+1 != c.records[0].Seq {
			return record.ErrConflict
		}
		return nil // as if the last write won
	}}},
	{"does not name the run", "errors_name_the_run", on{"reply": func(c *call) error {
		if err := c.do(); errors.Is(err, run.ErrNotAsked) {
			return run.ErrNotAsked
		}
		return nil
	}}},
	{"names the run twice", "errors_name_the_run", on{"append": func(c *call) error {
		if err := c.do(); err != nil {
			return fmt.Errorf("append to run %q: %w", c.key.ID, err)
		}
		return nil
	}}},
	{"heeds no context", "context_has_ended", on{"reply": before(func(c *call) { c.ctx = context.WithoutCancel(c.ctx) })}},
}

func sharing() func(c *call) error {
	var first *record.Log
	return after(func(c *call) {
		first = cmp.Or(first, c.log)
		c.log = first
	})
}

func keepingReplies() on {
	var all []run.Reply
	return on{
		"reply": func(c *call) error { all = c.replies; return c.do() },
		"load": after(func(c *call) {
			if c.log != nil {
				c.log.Replies = all
			}
		}),
	}
}

func locking() on {
	var mu sync.Mutex
	return on{
		"list": func(c *call) error {
			c.list = func(yield func(run.Head, error) bool) {
				mu.Lock()
				defer mu.Unlock()
				c.store.List(c.ctx, c.query)(yield)
			}
			return nil
		},
		"load": func(c *call) error {
			if !mu.TryLock() {
				return errors.New("another goroutine has the lock")
			}
			defer mu.Unlock()
			return c.do()
		},
	}
}

func countingEpochs() on {
	base := map[run.Key]uint64{}
	rebased := before(func(c *call) { c.lease.Epoch += base[c.key] })
	return on{
		"create": after(func(c *call) { base[c.key], c.lease.Epoch = c.lease.Epoch, 0 }),
		"append": rebased, "renew": rebased,
	}
}

// fault is a store in this process, and s the same store in another process.
func fault(s record.Store) record.Store {
	for _, c := range faults {
		if c.name == os.Getenv("STORETEST_FAULT") {
			return &faulty{s, c.on}
		}
	}
	return s
}

// TestFaults checks that the tests of a fault fail.
func TestFaults(t *testing.T) {
	if os.Getenv("STORETEST_FAULT") != "" {
		t.Fatal("a process with a fault runs the tests of one store")
	}
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$/^"+strings.ReplaceAll(c.test, "/", "$/^")+"$", "-test.timeout=1m")
			cmd.Env = append(os.Environ(), "STORETEST_FAULT="+c.name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestMemory/"+c.test) {
				t.Errorf("got %v, %s, want the test %s to fail", err, out, c.test)
			}
		})
	}
}
