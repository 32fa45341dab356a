package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/storetest"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

type call = ledgertest.Call

func present(c *call) record.Lease {
	log, err := c.Store.Load(c.Ctx, c.Key)
	if err != nil {
		return record.Lease{Key: c.Key}
	}
	return record.Lease{Key: c.Key, Epoch: log.Head.Epoch}
}

// on has what is done instead of calls, by the names of methods.
type on map[string]func(c *call) error

func ignoring(ignored error) func(c *call) error {
	return func(c *call) error {
		if err := c.Do(); !errors.Is(err, ignored) {
			return err
		}
		return nil
	}
}

func before(change func(c *call)) func(c *call) error {
	return func(c *call) error { change(c); return c.Do() }
}

func after(change func(c *call)) func(c *call) error {
	return func(c *call) error { defer change(c); return c.Do() }
}

// asPresent calls a method for the present holder, whoever calls.
var asPresent = before(func(c *call) { c.Lease = present(c) })

func renewing(other func(*call) record.Lease) func(*call) error {
	return before(func(c *call) {
		for i, lease := range c.Leases {
			c.Leases[i] = other(&call{Ctx: c.Ctx, Store: c.Store, Key: lease.Key, Lease: lease})
		}
	})
}

// faults break one promise each. Their tests must fail.
var faults = []struct {
	name, test string
	on         on
}{
	{"creates over a run", "create/exists", on{"create": before(func(c *call) { _ = c.Store.Delete(c.Ctx, c.Key) })}},
	{"creates without looking at each number", "create/refused", on{"create": numbering}},
	{"shares its log", "load", on{"load": sharing()}},
	{"does not say that there is no run", "load/current", on{"load": func(c *call) error {
		if err := c.Do(); errors.Is(err, record.ErrNotFound) {
			return errors.New("no such run")
		}
		return nil
	}}},
	{"shares the room behind its log", "load", sharingRoom()},
	{"appends without looking at each number", "append/all_or_nothing", on{"append": numbering}},
	{"appends in parts", "append/all_or_nothing", on{"append": func(c *call) error {
		for i := range c.Records {
			part := c.Head
			part.Seq = c.Records[i].Seq
			if err := c.Store.Append(c.Ctx, c.Lease, part, c.Records[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}}},
	{"appends with the head of an earlier record", "append/all_or_nothing", on{"append": before(func(c *call) {
		if n := len(c.Records); n > 1 && c.Head.Seq == c.Records[0].Seq {
			c.Head.Seq = c.Records[n-1].Seq
		}
	})}},
	{"appends at any place", "append/conflict", on{"append": func(c *call) error {
		if err := c.Do(); c.Lease.Epoch == 0 || !errors.Is(err, record.ErrConflict) {
			return err
		}
		return nil
	}}},
	{"lists no run with takeovers", "append/takeovers", on{"list": before(func(c *call) { c.Query.AllTenants = false })}},
	{"takes any epoch", "lease/holder_that_wakes_up", on{"append": asPresent}},
	{"does not say when the run was created", "lease", on{"acquire": after(func(c *call) { c.Lease.Created = time.Time{} })}},
	{"refuses a lease that has expired", "append/expired_lease", on{"append": func(c *call) error {
		if log, err := c.Store.Load(c.Ctx, c.Key); err == nil && time.Now().After(log.Head.HeldUntil) {
			return record.ErrConflict
		}
		return c.Do()
	}}},
	{"appends without the answers", "append/answers", on{"append": before(func(c *call) { c.Replies = nil })}},
	{"keeps answers before it appends", "append/answers_refused", on{"append": func(c *call) error {
		if err := c.Store.Reply(c.Ctx, c.Key, c.Replies); err != nil {
			return err
		}
		c.Replies = nil
		return c.Do()
	}}},
	{"appends before it keeps answers", "append/answers_refused", on{"append": func(c *call) error {
		if err := c.Store.Append(c.Ctx, c.Lease, c.Head, c.Records); err != nil {
			return err
		}
		return c.Store.Reply(c.Ctx, c.Key, c.Replies)
	}}},
	{"says nothing of the last record", "lease", on{"acquire": after(func(c *call) { c.Lease.Seq = 0 })}},
	{"gives a run that is held", "lease", on{"acquire": before(func(c *call) { _ = c.Store.Release(c.Ctx, present(c)) })}},
	{"gives one epoch twice", "lease/expiry", on{"acquire": func(c *call) error {
		c.Lease = present(c)
		return ledgertest.Renew(c.Ctx, c.Store, c.Lease, c.Holder.TTL)
	}}},
	{"renews any lease", "lease/renew", on{"renew": renewing(present)}},
	{"renews one of many leases", "lease/renew_all", on{"renew": before(func(c *call) { c.Leases = c.Leases[len(c.Leases)-min(len(c.Leases), 1):] })}},
	{"releases any lease", "lease/release", on{"release": asPresent}},
	{"releases a run that is answered", "answer", on{"reply": after(func(c *call) { _ = c.Store.Release(c.Ctx, present(c)) })}},
	{"takes any answer", "answer/first_wins", on{"reply": ignoring(record.ErrReplied)}},
	{"takes an answer without a question", "answer/not_asked", on{"reply": ignoring(run.ErrNotAsked)}},
	{"keeps some of the answers", "answer/all_or_none", on{"reply": func(c *call) error {
		for i := range c.Replies {
			if err := c.Store.Reply(c.Ctx, c.Key, c.Replies[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}}},
	{"gives the answers to closed questions", "answer/closed_question", keepingReplies()},
	{"lists no run with answers", "list", listing(func(q record.Query, h run.Head) bool { return h.ReplyCount == 0 && q.Matches(h) })},
	{"lists all tenants", "list", on{"list": before(func(c *call) { c.Query.AllTenants = true })}},
	{"lists without a limit", "list/order", on{"list": before(func(c *call) { c.Query.Limit = 0 })}},
	{"pages by time and id", "list/order", listing(func(q record.Query, h run.Head) bool {
		return q.After == nil || cmp.Or(h.Updated.Compare(q.After.Updated), cmp.Compare(q.After.Key.ID, h.Key.ID)) < 0
	})},
	{"lists what is not due", "list/due", on{"list": before(func(c *call) { c.Query.DueAt = time.Time{} })}},
	{"lists the newest of what is due", "list/due_order", listing(record.Query.Matches)},
	{"lists with a lock", "list/body_calls_the_store", locking()},
	{"lists once", "list/body_calls_the_store", on{"list": func(c *call) error {
		heads := map[run.Key]run.Head{}
		for h, err := range c.Store.List(c.Ctx, c.Query) {
			if err == nil {
				heads[h.Key] = h
			}
		}
		c.Heads = func(yield func(run.Head, error) bool) {
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
		for other := range c.Store.List(c.Ctx, record.Query{Tenant: c.Key.Tenant}) {
			if strings.EqualFold(other.Key.ID, c.Key.ID) {
				return record.ErrExists
			}
		}
		return c.Do()
	}}},
	{"mixes tenants", "tenants", on{"load": func(c *call) error {
		err := c.Do()
		if errors.Is(err, record.ErrNotFound) {
			c.Key.Tenant = "mine"
			err = c.Do()
		}
		return err
	}}},
	{"loses what it does not know", "records/later_version", on{"load": after(func(c *call) {
		if c.Log != nil {
			c.Log.Records = slices.DeleteFunc(c.Log.Records, func(r run.Record) bool {
				_, unknown := ledger.ChangeOf(r).(*ledger.Unknown)
				return unknown
			})
		}
	})}},
	{"appends without a lock", "at_once/append", on{"append": func(c *call) error {
		if log, err := c.Store.Load(c.Ctx, c.Key); err != nil || log.Head.Seq+1 != c.Records[0].Seq {
			return record.ErrConflict
		}
		return nil // as if the last write won
	}}},
	{"does not name the run", "errors_name_the_run", on{"reply": func(c *call) error {
		if err := c.Do(); errors.Is(err, run.ErrNotAsked) {
			return run.ErrNotAsked
		}
		return nil
	}}},
	{"names the run twice", "errors_name_the_run", on{"append": func(c *call) error {
		if err := c.Do(); err != nil {
			return fmt.Errorf("append to run %q: %w", c.Key.ID, err)
		}
		return nil
	}}},
	{"renews after the context has ended", "context_has_ended", on{"renew": func(c *call) error {
		ended := c.Ctx.Err()
		c.Ctx = context.WithoutCancel(c.Ctx)
		return cmp.Or(c.Do(), fmt.Errorf("renew the lease of run %q: %w", c.Leases[0].Key.ID, ended))
	}}},
	{"heeds no context", "context_has_ended", on{"reply": before(func(c *call) { c.Ctx = context.WithoutCancel(c.Ctx) })}},
}

// listing returns a store that lists as many as are wanted of the runs that it keeps, those with the newest change first.
func listing(keeps func(q record.Query, h run.Head) bool) on {
	return on{"list": func(c *call) error {
		all := c.Query
		all.After, all.DueAt, all.Limit = nil, time.Time{}, 0
		c.Heads = func(yield func(run.Head, error) bool) {
			n := 0
			for h, err := range c.Store.List(c.Ctx, all) {
				if !keeps(c.Query, h) || c.Query.Limit > 0 && n == c.Query.Limit {
					continue
				}
				if n++; !yield(h, err) {
					return
				}
			}
		}
		return nil
	}}
}

func sharing() func(c *call) error {
	var first *record.Log
	return after(func(c *call) {
		first = cmp.Or(first, c.Log)
		c.Log = first
	})
}

// sharingRoom returns a store that copies the first records, and has a slot for each later one.
func sharingRoom() on {
	slots := make([]run.Record, 100)
	return on{
		"append": before(func(c *call) { copy(slots[c.Records[0].Seq-1:], c.Records) }),
		"load": after(func(c *call) {
			if c.Log != nil {
				copy(slots, c.Log.Records[:min(3, len(c.Log.Records))])
				c.Log.Records = slots[:len(c.Log.Records)]
			}
		}),
	}
}

// numbering numbers the records, if the last one is that of the head, and makes the call.
var numbering = before(func(c *call) {
	last := len(c.Records) - 1
	if last < 1 || c.Records[last].Seq != c.Head.Seq {
		return
	}
	c.Records = slices.Clone(c.Records)
	c.Head.Seq = 0
	if c.Method == "append" {
		c.Head.Seq = c.Records[0].Seq - 1
	}
	for i := range c.Records {
		c.Head.Seq++
		c.Records[i].Seq = c.Head.Seq
	}
})

func keepingReplies() on {
	var all []run.Reply
	return on{
		"reply": func(c *call) error { all = c.Replies; return c.Do() },
		"load": after(func(c *call) {
			if c.Log != nil {
				c.Log.Replies = all
			}
		}),
	}
}

func locking() on {
	var mu sync.Mutex
	return on{
		"list": func(c *call) error {
			c.Heads = func(yield func(run.Head, error) bool) {
				mu.Lock()
				defer mu.Unlock()
				c.Store.List(c.Ctx, c.Query)(yield)
			}
			return nil
		},
		"load": func(c *call) error {
			if !mu.TryLock() {
				return errors.New("another goroutine has the lock")
			}
			defer mu.Unlock()
			return c.Do()
		},
	}
}

func countingEpochs() on {
	base := map[run.Key]uint64{}
	rebased := func(c *call) record.Lease { c.Lease.Epoch += base[c.Key]; return c.Lease }
	return on{
		"create": after(func(c *call) { base[c.Key], c.Lease.Epoch = c.Lease.Epoch, 0 }),
		"append": before(func(c *call) { rebased(c) }), "renew": renewing(rebased),
	}
}

// fault is a store in this process, and s the same store in another process.
func fault(s record.Store) record.Store {
	for _, c := range faults {
		if c.name == os.Getenv("STORETEST_FAULT") {
			return ledgertest.Watch(s, func(called *call) error {
				if instead := c.on[called.Method]; instead != nil {
					return instead(called)
				}
				return called.Do()
			})
		}
	}
	return s
}

// TestFaults checks that the tests of a fault fail.
func TestFaults(t *testing.T) {
	check.Require(t, os.Getenv("STORETEST_FAULT") == "", "a process with a fault runs the tests of one store")
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestMemory$/^"+strings.ReplaceAll(c.test, "/", "$/^")+"$", "-test.timeout=1m")
			cmd.Env = append(os.Environ(), "STORETEST_FAULT="+c.name)
			out, err := cmd.CombinedOutput()
			check.That(t, err != nil && strings.Contains(string(out), "--- FAIL: TestMemory/"+c.test+" ("),
				"got %v, %s, want the test %s to fail", err, out, c.test)
		})
	}
}

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) record.Store { return fault(record.NewMemory()) })
}
