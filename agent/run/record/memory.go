package record

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// NewMemory returns a store that keeps runs in memory. It is unbounded: delete runs that have
// ended.
func NewMemory() Store { return &memory{runs: map[run.Key]*memoryRun{}} }

// memory is the [Store] of [NewMemory]. It shares only immutable values with its callers.
type memory struct {
	mu    sync.Mutex // guards the fields below, and the runs
	runs  map[run.Key]*memoryRun
	epoch uint64 // the latest epoch of any run
}

type memoryRun struct {
	head    run.Head
	holder  string // the holder of the latest lease
	records []run.Record
	replies map[string]run.Reply // by question, including closed ones

	cancel uint64 // number of the last record when cancellation was requested, 0: it was not

	blobs    map[string][]byte // by name; the data is immutable
	blobSize int64             // total bytes
}

func (m *memory) Create(ctx context.Context, h Holder, head run.Head, records []run.Record) (Lease, error) {
	if err := CheckRecords(nil, Lease{}, head, records); err != nil {
		return Lease{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Lease{}, fmt.Errorf("create run %q: %w", head.Key.ID, err)
	}
	if m.runs[head.Key] != nil {
		return Lease{}, fmt.Errorf("create run %q: %w", head.Key.ID, ErrExists)
	}
	m.epoch++
	head.Epoch, head.HeldUntil, head.TTL, head.QuestionIDs = m.epoch, time.Now().Add(h.TTL), h.TTL, slices.Clone(head.QuestionIDs)
	m.runs[head.Key] = &memoryRun{head: head, holder: h.Name, records: slices.Clone(records), replies: map[string]run.Reply{}}
	return Lease{Key: head.Key, Epoch: head.Epoch, Seq: head.Seq, Created: head.Created}, nil
}

func (m *memory) Load(ctx context.Context, key run.Key) (log *Log, err error) {
	err = m.withRun(ctx, "load", key, func(r *memoryRun) error {
		log = &Log{Head: r.current(), Records: slices.Clone(r.records), Replies: r.pending()}
		return nil
	})
	return log, err
}

func (m *memory) LoadCurrent(ctx context.Context, key run.Key) (*Log, error) {
	log, err := m.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	log.Records = ledger.Current(log.Head, log.Records)
	return log, nil
}

func (m *memory) Append(ctx context.Context, lease Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	return m.withLease(ctx, "append to", lease, func(r *memoryRun) error {
		if err := CheckRecords(&r.head, lease, head, records); err != nil {
			return err
		}
		if err := r.reply(replies); err != nil {
			return err
		}
		head.Epoch, head.HeldUntil, head.TTL, head.QuestionIDs = r.head.Epoch, r.head.HeldUntil, r.head.TTL, slices.Clone(head.QuestionIDs)
		r.head, r.records = head, append(r.records, records...)
		return nil
	})
}

func (m *memory) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	return m.withRun(ctx, "answer", key, func(r *memoryRun) error { return r.reply(replies) })
}

func (m *memory) Acquire(ctx context.Context, key run.Key, h Holder) (lease Lease, err error) {
	err = m.withRun(ctx, "acquire", key, func(r *memoryRun) error {
		now := time.Now()
		if r.head.HeldAt(now) {
			return &HeldError{r.holder, r.head.HeldUntil}
		}
		m.epoch++
		r.head.Epoch, r.head.HeldUntil, r.head.TTL, r.holder = m.epoch, now.Add(h.TTL), h.TTL, h.Name
		lease = Lease{Key: key, Epoch: r.head.Epoch, Seq: r.head.Seq, Created: r.head.Created}
		return nil
	})
	return lease, err
}

func (m *memory) Renew(ctx context.Context, leases []Lease, ttl time.Duration) []error {
	errs := make([]error, len(leases))
	for i, lease := range leases {
		errs[i] = m.withLease(ctx, "renew the lease of", lease, func(r *memoryRun) error {
			r.head.HeldUntil, r.head.TTL = time.Now().Add(ttl), ttl
			return nil
		})
	}
	return errs
}

func (m *memory) Release(ctx context.Context, lease Lease) error {
	err := m.withLease(ctx, "release", lease, func(r *memoryRun) error {
		r.head.HeldUntil = time.Time{}
		return nil
	})
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

func (m *memory) List(ctx context.Context, q Query) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(run.Head{}, fmt.Errorf("list runs: %w", err))
			return
		}
		for _, h := range m.list(q) {
			if !yield(h, nil) {
				return
			}
		}
	}
}

func (m *memory) list(q Query) (heads []run.Head) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.runs {
		if h := r.current(); q.Matches(h) {
			heads = append(heads, h)
		}
	}
	slices.SortFunc(heads, ledger.HeadOrder(!q.DueAt.IsZero()))
	if q.Limit > 0 {
		heads = heads[:min(q.Limit, len(heads))]
	}
	return heads
}

func (m *memory) Prune(ctx context.Context, lease Lease) error {
	return m.withLease(ctx, "prune", lease, func(r *memoryRun) error {
		r.records = slices.Clone(ledger.Current(r.head, r.records)) // without the memory of those before
		return nil
	})
}

func (m *memory) RequestCancel(ctx context.Context, key run.Key) error {
	return m.withRun(ctx, "request to cancel", key, func(r *memoryRun) error {
		if !r.head.Status.Ended() {
			r.cancel = r.head.Seq
		}
		return nil
	})
}

func (m *memory) CancelRequests(ctx context.Context) (map[run.Key]uint64, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list cancel requests: %w", err)
	}
	requests := map[run.Key]uint64{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, r := range m.runs {
		if r.cancel > 0 && !r.head.Status.Ended() {
			requests[key] = r.cancel
		}
	}
	return requests, nil
}

func (m *memory) PutBlob(ctx context.Context, lease Lease, name string, data []byte) error {
	return m.withLease(ctx, fmt.Sprintf("keep blob %.100q of", name), lease, func(r *memoryRun) error {
		var ofTenant int64
		for key, other := range m.runs {
			if key.Tenant == lease.Key.Tenant {
				ofTenant += other.blobSize
			}
		}
		old := int64(len(r.blobs[name]))
		if err := CheckBlob(lease.Key, name, int64(len(data)), r.blobSize-old, ofTenant-old); err != nil {
			return err
		}
		if r.blobs == nil {
			r.blobs = map[string][]byte{}
		}
		r.blobs[name] = slices.Clone(data)
		r.blobSize += int64(len(data)) - old
		return nil
	})
}

func (m *memory) Blob(ctx context.Context, key run.Key, name string) (data []byte, err error) {
	err = m.withRun(ctx, fmt.Sprintf("load blob %.100q of", name), key, func(r *memoryRun) (err error) {
		var ok bool
		if data, ok = r.blobs[name]; !ok {
			err = ErrNotFound
		}
		return err
	})
	return data, err
}

func (m *memory) Blobs(ctx context.Context, key run.Key) (names []string, err error) {
	err = m.withRun(ctx, "list the blobs of", key, func(r *memoryRun) error {
		names = slices.Sorted(maps.Keys(r.blobs))
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return names, err
}

func (m *memory) Delete(ctx context.Context, key run.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete run %q: %w", key.ID, err)
	}
	delete(m.runs, key)
	return nil
}

// withRun calls do with a run, under the lock. The error names the run and the operation.
func (m *memory) withRun(ctx context.Context, what string, key run.Key, do func(*memoryRun) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.runs[key], ctx.Err()
	switch {
	case err != nil:
	case r == nil:
		err = ErrNotFound
	default:
		err = do(r)
	}
	return subject.Wrap(err, "%s run %q", what, key.ID)
}

// withLease is withRun for the holder of a lease. The error matches [ErrConflict] unless its lease is
// the latest.
func (m *memory) withLease(ctx context.Context, what string, lease Lease, do func(*memoryRun) error) error {
	err := m.withRun(ctx, what, lease.Key, func(r *memoryRun) error {
		if r.head.Epoch != lease.Epoch {
			return ErrConflict
		}
		return do(r)
	})
	if errors.Is(err, ErrNotFound) {
		return subject.Wrap(ErrConflict, "%s run %q", what, lease.Key.ID)
	}
	return err
}

func (r *memoryRun) reply(replies []run.Reply) error {
	fresh, err := CheckReplies(r.head, r.replies, replies)
	for _, reply := range fresh {
		r.replies[reply.Question] = reply
	}
	return err
}

// current returns the head with the number of replies to open questions.
func (r *memoryRun) current() run.Head {
	h := r.head
	h.QuestionIDs = slices.Clone(h.QuestionIDs)
	h.ReplyCount = len(r.pending())
	return h
}

// pending returns the replies to open questions.
func (r *memoryRun) pending() []run.Reply { return ledger.RepliesTo(r.head.QuestionIDs, r.replies) }
