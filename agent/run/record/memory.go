package record

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
)

// NewMemory returns a store that keeps runs in memory. It is unbounded: delete runs that have
// ended.
func NewMemory() Store { return &memory{runs: map[run.Key]*kept{}} }

// memory is the [Store] of [NewMemory]. It shares only immutable values with its callers.
type memory struct {
	mu    sync.Mutex // guards the fields below, and the runs
	runs  map[run.Key]*kept
	epoch uint64 // the latest epoch of any run
}

// kept is a run in memory.
type kept struct {
	head    run.Head
	holder  string // the holder of the latest lease
	records []run.Record
	replies map[string]run.Reply // by question, including closed ones

	cancel uint64 // CancelRequest.Seq, 0 if there is none

	blobs    map[string][]byte // by name; the data is immutable
	blobSize int64             // total bytes
}

func (m *memory) Create(ctx context.Context, h Holder, head run.Head, records []run.Record) (Lease, error) {
	if err := CheckCreate(head, records); err != nil {
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
	m.runs[head.Key] = &kept{head: head, holder: h.Name, records: slices.Clone(records), replies: map[string]run.Reply{}}
	return Lease{Key: head.Key, Epoch: head.Epoch, Seq: head.Seq, Created: head.Created}, nil
}

func (m *memory) Load(ctx context.Context, key run.Key) (log *Log, err error) {
	err = m.with(ctx, "load", key, func(k *kept) error {
		log = &Log{Head: k.current(), Records: slices.Clone(k.records), Replies: k.pending()}
		return nil
	})
	return log, err
}

func (m *memory) LoadCurrent(ctx context.Context, key run.Key) (*Log, error) {
	log, err := m.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	return log.Current(), nil
}

func (m *memory) Append(ctx context.Context, lease Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	return m.withLease(ctx, "append to", lease, func(k *kept) error {
		if err := CheckAppend(k.head, lease, head, records); err != nil {
			return err
		}
		if err := k.reply(replies); err != nil {
			return err
		}
		head.Epoch, head.HeldUntil, head.TTL, head.QuestionIDs = k.head.Epoch, k.head.HeldUntil, k.head.TTL, slices.Clone(head.QuestionIDs)
		k.head, k.records = head, append(k.records, records...)
		return nil
	})
}

func (m *memory) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	return m.with(ctx, "answer", key, func(k *kept) error { return k.reply(replies) })
}

func (m *memory) Acquire(ctx context.Context, key run.Key, h Holder) (lease Lease, err error) {
	err = m.with(ctx, "acquire", key, func(k *kept) error {
		now := time.Now()
		if k.head.HeldAt(now) {
			return &HeldError{k.holder, k.head.HeldUntil}
		}
		m.epoch++
		k.head.Epoch, k.head.HeldUntil, k.head.TTL, k.holder = m.epoch, now.Add(h.TTL), h.TTL, h.Name
		lease = Lease{Key: key, Epoch: k.head.Epoch, Seq: k.head.Seq, Created: k.head.Created}
		return nil
	})
	return lease, err
}

func (m *memory) Renew(ctx context.Context, lease Lease, ttl time.Duration) error {
	return m.withLease(ctx, "renew the lease of", lease, func(k *kept) error {
		k.head.HeldUntil, k.head.TTL = time.Now().Add(ttl), ttl
		return nil
	})
}

// RenewAll implements [BatchRenewer].
func (m *memory) RenewAll(ctx context.Context, leases []Lease, ttl time.Duration) (lost []Lease, err error) {
	for _, lease := range leases {
		switch err := m.Renew(ctx, lease, ttl); {
		case errors.Is(err, ErrConflict):
			lost = append(lost, lease)
		case err != nil:
			return nil, err
		}
	}
	return lost, nil
}

func (m *memory) Release(ctx context.Context, lease Lease) error {
	err := m.withLease(ctx, "release", lease, func(k *kept) error {
		k.head.HeldUntil = time.Time{}
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
	for _, k := range m.runs {
		if h := k.current(); q.Matches(h) {
			heads = append(heads, h)
		}
	}
	slices.SortFunc(heads, q.Compare)
	if q.Limit > 0 {
		heads = heads[:min(q.Limit, len(heads))]
	}
	return heads
}

// Prune implements [Pruner].
func (m *memory) Prune(ctx context.Context, lease Lease) error {
	return m.withLease(ctx, "prune", lease, func(k *kept) error {
		current := (&Log{Head: k.head, Records: k.records}).Current()
		k.records = slices.Clone(current.Records) // without the memory of those before
		return nil
	})
}

func (m *memory) RequestCancel(ctx context.Context, key run.Key) error {
	return m.with(ctx, "request to cancel", key, func(k *kept) error {
		if !k.head.Status.Ended() {
			k.cancel = k.head.Seq
		}
		return nil
	})
}

func (m *memory) CancelRequests(ctx context.Context) (requests []CancelRequest, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list cancel requests: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, k := range m.runs {
		if k.cancel > 0 && !k.head.Status.Ended() {
			requests = append(requests, CancelRequest{key, k.cancel})
		}
	}
	return requests, nil
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

// with calls do with a run, under the lock. The error names the run and the operation.
func (m *memory) with(ctx context.Context, what string, key run.Key, do func(*kept) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.runs[key], ctx.Err()
	switch {
	case err != nil:
	case k == nil:
		err = ErrNotFound
	default:
		err = do(k)
	}
	return subject.Wrap(err, "%s run %q", what, key.ID)
}

// withLease is with for the holder of a lease. The error matches [ErrConflict] unless its lease is
// the latest.
func (m *memory) withLease(ctx context.Context, what string, lease Lease, do func(*kept) error) error {
	err := m.with(ctx, what, lease.Key, func(k *kept) error {
		if k.head.Epoch != lease.Epoch {
			return ErrConflict
		}
		return do(k)
	})
	if errors.Is(err, ErrNotFound) {
		return subject.Wrap(ErrConflict, "%s run %q", what, lease.Key.ID)
	}
	return err
}

// reply stores all replies or none.
func (k *kept) reply(replies []run.Reply) error {
	fresh, err := CheckReplies(k.head, k.replies, replies)
	for _, a := range fresh {
		k.replies[a.Question] = a
	}
	return err
}

// current returns the head with the number of replies to open questions.
func (k *kept) current() run.Head {
	h := k.head
	h.QuestionIDs = slices.Clone(h.QuestionIDs)
	h.ReplyCount = len(k.pending())
	return h
}

// pending returns the replies to open questions, in the order of the questions.
func (k *kept) pending() (replies []run.Reply) {
	for _, id := range k.head.QuestionIDs {
		if a, ok := k.replies[id]; ok {
			replies = append(replies, a)
		}
	}
	return replies
}
