package storetest_test

import (
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

// faulty is a store with some methods replaced.
type faulty struct {
	record.Store
	create  func(context.Context, record.Holder, run.Head, []run.Record) (record.Lease, error)
	load    func(context.Context, run.Key) (*record.Log, error)
	append  func(context.Context, record.Lease, run.Head, []run.Record, ...run.Reply) error
	reply   func(context.Context, run.Key, []run.Reply) error
	acquire func(context.Context, run.Key, record.Holder) (record.Lease, error)
	renew   func(context.Context, record.Lease, time.Duration) error
	release func(context.Context, record.Lease) error
	list    func(context.Context, record.Query) iter.Seq2[run.Head, error]
	delete  func(context.Context, run.Key) error
}

func (f *faulty) Create(ctx context.Context, h record.Holder, head run.Head, records []run.Record) (record.Lease, error) {
	return f.create(ctx, h, head, records)
}
func (f *faulty) Load(ctx context.Context, key run.Key) (*record.Log, error) { return f.load(ctx, key) }
func (f *faulty) Append(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	return f.append(ctx, l, head, records, replies...)
}
func (f *faulty) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	return f.reply(ctx, key, replies)
}
func (f *faulty) Acquire(ctx context.Context, key run.Key, h record.Holder) (record.Lease, error) {
	return f.acquire(ctx, key, h)
}
func (f *faulty) Renew(ctx context.Context, l record.Lease, ttl time.Duration) error {
	return f.renew(ctx, l, ttl)
}
func (f *faulty) Release(ctx context.Context, l record.Lease) error { return f.release(ctx, l) }
func (f *faulty) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	return f.list(ctx, q)
}
func (f *faulty) Delete(ctx context.Context, key run.Key) error { return f.delete(ctx, key) }

// present returns the lease of the present holder.
func (f *faulty) present(key run.Key) record.Lease {
	log, err := f.Store.Load(context.Background(), key)
	if err != nil {
		return record.Lease{Key: key}
	}
	return record.Lease{Key: key, Epoch: log.Head.Epoch}
}

// faults break one promise each. Their tests must fail.
var faults = []struct {
	name, test string
	set        func(*faulty)
}{
	{"creates over a run", "create/exists", func(f *faulty) {
		f.create = func(ctx context.Context, h record.Holder, head run.Head, records []run.Record) (record.Lease, error) {
			_ = f.Store.Delete(ctx, head.Key)
			return f.Store.Create(ctx, h, head, records)
		}
	}},
	{"shares its log", "load", func(f *faulty) {
		var once sync.Once
		var log *record.Log
		f.load = func(ctx context.Context, key run.Key) (_ *record.Log, err error) {
			l, err := f.Store.Load(ctx, key)
			if err == nil {
				once.Do(func() { log = l })
			}
			return log, err
		}
	}},
	{"appends in parts", "append/all_or_nothing", func(f *faulty) {
		f.append = func(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
			for i := range records {
				part := head
				part.Seq = records[i].Seq
				if err := f.Store.Append(ctx, l, part, records[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		}
	}},
	{"appends at any place", "append/conflict", func(f *faulty) {
		f.append = func(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
			if err := f.Store.Append(ctx, l, head, records, replies...); l.Epoch == 0 || !errors.Is(err, record.ErrConflict) {
				return err
			}
			return nil
		}
	}},
	{"takes any epoch", "lease/holder_that_wakes_up", func(f *faulty) {
		f.append = func(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
			return f.Store.Append(ctx, f.present(l.Key), head, records, replies...)
		}
	}},
	{"does not say when the run was created", "lease", func(f *faulty) {
		f.acquire = func(ctx context.Context, key run.Key, h record.Holder) (record.Lease, error) {
			l, err := f.Store.Acquire(ctx, key, h)
			l.Created = time.Time{}
			return l, err
		}
	}},
	{"refuses a lease that has expired", "append/expired_lease", func(f *faulty) {
		f.append = func(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
			if log, err := f.Store.Load(ctx, l.Key); err == nil && time.Now().After(log.Head.Held) {
				return record.ErrConflict
			}
			return f.Store.Append(ctx, l, head, records, replies...)
		}
	}},
	{"appends without the answers", "append/answers", func(f *faulty) {
		f.append = func(ctx context.Context, l record.Lease, head run.Head, records []run.Record, _ ...run.Reply) error {
			return f.Store.Append(ctx, l, head, records)
		}
	}},
	{"keeps answers before it appends", "append/answers_refused", func(f *faulty) {
		f.append = func(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
			if err := f.Store.Reply(ctx, l.Key, replies); err != nil {
				return err
			}
			return f.Store.Append(ctx, l, head, records)
		}
	}},
	{"appends before it keeps answers", "append/answers_refused", func(f *faulty) {
		f.append = func(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
			if err := f.Store.Append(ctx, l, head, records); err != nil {
				return err
			}
			return f.Store.Reply(ctx, l.Key, replies)
		}
	}},
	{"says nothing of the last record", "lease", func(f *faulty) {
		f.acquire = func(ctx context.Context, key run.Key, h record.Holder) (record.Lease, error) {
			l, err := f.Store.Acquire(ctx, key, h)
			l.Seq = 0
			return l, err
		}
	}},
	{"gives a run that is held", "lease", func(f *faulty) {
		f.acquire = func(ctx context.Context, key run.Key, h record.Holder) (record.Lease, error) {
			_ = f.Store.Release(ctx, f.present(key))
			return f.Store.Acquire(ctx, key, h)
		}
	}},
	{"gives one epoch twice", "lease/expiry", func(f *faulty) {
		f.acquire = func(ctx context.Context, key run.Key, h record.Holder) (record.Lease, error) {
			l := f.present(key)
			return l, f.Store.Renew(ctx, l, h.TTL)
		}
	}},
	{"renews any lease", "lease/renew", func(f *faulty) {
		f.renew = func(ctx context.Context, l record.Lease, ttl time.Duration) error {
			return f.Store.Renew(ctx, f.present(l.Key), ttl)
		}
	}},
	{"releases any lease", "lease/release", func(f *faulty) {
		f.release = func(ctx context.Context, l record.Lease) error { return f.Store.Release(ctx, f.present(l.Key)) }
	}},
	{"takes any answer", "answer/first_wins", func(f *faulty) {
		f.reply = func(ctx context.Context, key run.Key, replies []run.Reply) error {
			if err := f.Store.Reply(ctx, key, replies); !errors.Is(err, record.ErrReplied) {
				return err
			}
			return nil
		}
	}},
	{"takes an answer without a question", "answer/not_asked", func(f *faulty) {
		f.reply = func(ctx context.Context, key run.Key, replies []run.Reply) error {
			if err := f.Store.Reply(ctx, key, replies); !errors.Is(err, run.ErrNotAsked) {
				return err
			}
			return nil
		}
	}},
	{"keeps some of the answers", "answer/all_or_none", func(f *faulty) {
		f.reply = func(ctx context.Context, key run.Key, replies []run.Reply) error {
			for i := range replies {
				if err := f.Store.Reply(ctx, key, replies[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		}
	}},
	{"gives the answers to closed questions", "answer/closed_question", func(f *faulty) {
		var all []run.Reply
		f.reply = func(ctx context.Context, key run.Key, replies []run.Reply) error {
			all = replies
			return f.Store.Reply(ctx, key, replies)
		}
		f.load = func(ctx context.Context, key run.Key) (*record.Log, error) {
			log, err := f.Store.Load(ctx, key)
			if err == nil {
				log.Replies = all
			}
			return log, err
		}
	}},
	{"lists all tenants", "list", func(f *faulty) {
		f.list = func(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
			q.AllTenants = true
			return f.Store.List(ctx, q)
		}
	}},
	{"lists without a limit", "list/order", func(f *faulty) {
		f.list = func(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
			q.Limit = 0
			return f.Store.List(ctx, q)
		}
	}},
	{"lists what is not due", "list/due", func(f *faulty) {
		f.list = func(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
			q.DueAt = time.Time{}
			return f.Store.List(ctx, q)
		}
	}},
	{"lists the newest of what is due", "list/due_order", func(f *faulty) {
		f.list = func(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
			return func(yield func(run.Head, error) bool) {
				n := 0
				for h, err := range f.Store.List(ctx, record.Query{Tenant: q.Tenant, AllTenants: q.AllTenants}) {
					if due := q.DueAt.IsZero() || h.Due(q.DueAt); !due || q.Limit > 0 && n == q.Limit {
						continue
					}
					if n++; !yield(h, err) {
						return
					}
				}
			}
		}
	}},
	{"lists with a lock", "list/body_calls_the_store", func(f *faulty) {
		var mu sync.Mutex
		f.list = func(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
			return func(yield func(run.Head, error) bool) {
				mu.Lock()
				defer mu.Unlock()
				f.Store.List(ctx, q)(yield)
			}
		}
		f.load = func(ctx context.Context, key run.Key) (*record.Log, error) {
			if !mu.TryLock() {
				return nil, errors.New("another goroutine has the lock")
			}
			defer mu.Unlock()
			return f.Store.Load(ctx, key)
		}
	}},
	{"lists once", "list/body_calls_the_store", func(f *faulty) {
		f.list = func(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
			var heads []run.Head
			for h, err := range f.Store.List(ctx, q) {
				if err == nil {
					heads = append(heads, h)
				}
			}
			return func(yield func(run.Head, error) bool) {
				for _, h := range heads {
					if !yield(h, nil) {
						return
					}
				}
			}
		}
	}},
	{"deletes nothing", "delete", func(f *faulty) {
		f.delete = func(context.Context, run.Key) error { return nil }
	}},
	{"counts epochs from 1", "delete/created_again", func(f *faulty) {
		base := map[run.Key]uint64{}
		f.create = func(ctx context.Context, h record.Holder, head run.Head, records []run.Record) (record.Lease, error) {
			l, err := f.Store.Create(ctx, h, head, records)
			base[l.Key] = l.Epoch
			l.Epoch -= base[l.Key]
			return l, err
		}
		f.append = func(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
			l.Epoch += base[l.Key]
			return f.Store.Append(ctx, l, head, records, replies...)
		}
		f.renew = func(ctx context.Context, l record.Lease, ttl time.Duration) error {
			l.Epoch += base[l.Key]
			return f.Store.Renew(ctx, l, ttl)
		}
	}},
	{"folds the case of keys", "keys", func(f *faulty) {
		f.create = func(ctx context.Context, h record.Holder, head run.Head, records []run.Record) (record.Lease, error) {
			for other := range f.Store.List(ctx, record.Query{Tenant: head.Key.Tenant}) {
				if strings.EqualFold(other.Key.ID, head.Key.ID) {
					return record.Lease{}, record.ErrExists
				}
			}
			return f.Store.Create(ctx, h, head, records)
		}
	}},
	{"mixes tenants", "tenants", func(f *faulty) {
		f.load = func(ctx context.Context, key run.Key) (*record.Log, error) {
			log, err := f.Store.Load(ctx, key)
			if errors.Is(err, record.ErrNotFound) {
				key.Tenant = "mine"
				return f.Store.Load(ctx, key)
			}
			return log, err
		}
	}},
	{"loses what it does not know", "records/later_version", func(f *faulty) {
		f.load = func(ctx context.Context, key run.Key) (*record.Log, error) {
			log, err := f.Store.Load(ctx, key)
			if err == nil {
				log.Records = slices.DeleteFunc(log.Records, func(r run.Record) bool {
					_, unknown := ledger.ChangeOf(r).(*ledger.Unknown)
					return unknown
				})
			}
			return log, err
		}
	}},
	{"appends without a lock", "at_once/append", func(f *faulty) {
		f.append = func(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
			if log, err := f.Store.Load(ctx, l.Key); err != nil || log.Head.Seq+1 != records[0].Seq {
				return record.ErrConflict
			}
			return nil // as if the last write won
		}
	}},
	{"does not name the run", "errors_name_the_run", func(f *faulty) {
		f.reply = func(ctx context.Context, key run.Key, replies []run.Reply) error {
			if err := f.Store.Reply(ctx, key, replies); errors.Is(err, run.ErrNotAsked) {
				return run.ErrNotAsked
			}
			return nil
		}
	}},
	{"names the run twice", "errors_name_the_run", func(f *faulty) {
		f.append = func(ctx context.Context, l record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
			if err := f.Store.Append(ctx, l, head, records, replies...); err != nil {
				return fmt.Errorf("append to run %q: %w", l.Key.ID, err)
			}
			return nil
		}
	}},
	{"heeds no context", "context_has_ended", func(f *faulty) {
		f.reply = func(ctx context.Context, key run.Key, replies []run.Reply) error {
			return f.Store.Reply(context.WithoutCancel(ctx), key, replies)
		}
	}},
}

// fault is a store in this process, and s the same store in another process.
func fault(s record.Store) record.Store {
	for _, c := range faults {
		if c.name == os.Getenv("STORETEST_FAULT") {
			f := &faulty{
				s, s.Create, s.Load, s.Append, s.Reply, s.Acquire, s.Renew, s.Release, s.List, s.Delete,
			}
			c.set(f)
			return f
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
