package record

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// NewMemory returns a store that keeps runs in memory. It is unbounded: delete runs that have
// ended.
func NewMemory() Store { return &memory{runs: map[run.Key]*kept{}} }

type memory struct {
	mu    sync.Mutex
	runs  map[run.Key]*kept
	epoch uint64 // of the latest lease of any run
}

// kept is a run in memory.
type kept struct {
	head    run.Head
	holder  string // of the latest lease
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
	head.Epoch, head.Held, head.TTL, head.Questions = m.epoch, time.Now().Add(h.TTL), h.TTL, slices.Clone(head.Questions)
	m.runs[head.Key] = &kept{head: head, holder: h.Name, records: slices.Clone(records), replies: map[string]run.Reply{}}
	return Lease{Key: head.Key, Epoch: head.Epoch, Seq: head.Seq, Created: head.Created}, nil
}

func (m *memory) Load(ctx context.Context, key run.Key) (*Log, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(ctx, "load", key)
	if err != nil {
		return nil, err
	}
	return &Log{Head: k.current(), Records: slices.Clone(k.records), Replies: k.pending()}, nil
}

func (m *memory) LoadCurrent(ctx context.Context, key run.Key) (*Log, error) {
	log, err := m.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	return log.Current(), nil
}

func (m *memory) Append(ctx context.Context, lease Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.leased(ctx, "append to", lease)
	if err != nil {
		return err
	}
	if err := CheckAppend(k.head, lease, head, records); err != nil {
		return err
	}
	if err := k.reply(replies); err != nil {
		return err
	}
	head.Epoch, head.Held, head.TTL, head.Questions = k.head.Epoch, k.head.Held, k.head.TTL, slices.Clone(head.Questions)
	k.head, k.records = head, append(k.records, records...)
	return nil
}

func (m *memory) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(ctx, "answer", key)
	if err != nil {
		return err
	}
	return k.reply(replies)
}

func (m *memory) Acquire(ctx context.Context, key run.Key, h Holder) (Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(ctx, "acquire", key)
	if err != nil {
		return Lease{}, err
	}
	now := time.Now()
	if k.head.HeldAt(now) {
		return Lease{}, fmt.Errorf("acquire run %q: %w", key.ID, &HeldError{k.holder, k.head.Held})
	}
	m.epoch++
	k.head.Epoch, k.head.Held, k.head.TTL, k.holder = m.epoch, now.Add(h.TTL), h.TTL, h.Name
	return Lease{Key: key, Epoch: k.head.Epoch, Seq: k.head.Seq, Created: k.head.Created}, nil
}

func (m *memory) Renew(ctx context.Context, lease Lease, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.leased(ctx, "renew the lease of", lease)
	if err != nil {
		return err
	}
	k.head.Held, k.head.TTL = time.Now().Add(ttl), ttl
	return nil
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
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.leased(ctx, "release", lease)
	if errors.Is(err, ErrConflict) {
		return nil
	}
	if err == nil {
		k.head.Held = time.Time{}
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
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.leased(ctx, "prune", lease)
	if err == nil {
		k.records = (&Log{Head: k.head, Records: k.records}).Current().Records
		k.records = slices.Clone(k.records)
	}
	return err
}

func (m *memory) RequestCancel(ctx context.Context, key run.Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(ctx, "request to cancel", key)
	if err == nil && !k.head.Status.Ended() {
		k.cancel = k.head.Seq
	}
	return err
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

func (m *memory) find(ctx context.Context, what string, key run.Key) (*kept, error) {
	k, err := m.runs[key], ctx.Err()
	if err == nil && k == nil {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("%s run %q: %w", what, key.ID, err)
	}
	return k, nil
}

// leased returns the run if the lease is its latest.
func (m *memory) leased(ctx context.Context, what string, lease Lease) (*kept, error) {
	k, err := m.runs[lease.Key], ctx.Err()
	if err == nil && (k == nil || k.head.Epoch != lease.Epoch) {
		err = ErrConflict
	}
	if err != nil {
		return nil, fmt.Errorf("%s run %q: %w", what, lease.Key.ID, err)
	}
	return k, nil
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
	h.Questions, h.Replies = slices.Clone(h.Questions), len(k.pending())
	return h
}

// pending returns the replies to open questions, in the order of the questions.
func (k *kept) pending() (replies []run.Reply) {
	for _, id := range k.head.Questions {
		if a, ok := k.replies[id]; ok {
			replies = append(replies, a)
		}
	}
	return replies
}
