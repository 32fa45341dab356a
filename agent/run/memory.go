package run

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"
)

// NewMemory returns a store that keeps runs in memory, as long as the process lives.
// It has no bound: delete runs that are over.
func NewMemory() Store { return &memory{runs: map[Key]*kept{}} }

type memory struct {
	mu   sync.Mutex
	runs map[Key]*kept
}

// kept is a run in memory.
type kept struct {
	head    Head
	records []Record
	answers map[string]Answer // by question, those of closed questions too
}

func (m *memory) Create(_ context.Context, h Holder, head Head, records []Record) (Lease, error) {
	if err := CheckCreate(head, records); err != nil {
		return Lease{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs[head.Key] != nil {
		return Lease{}, fmt.Errorf("create run %q: %w", head.Key.ID, ErrExists)
	}
	head.Epoch, head.Held, head.Answers = 1, time.Now().Add(h.TTL), 0
	m.runs[head.Key] = &kept{head: head, records: slices.Clone(records), answers: map[string]Answer{}}
	return Lease{head.Key, 1}, nil
}

func (m *memory) Load(_ context.Context, key Key) (*Log, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find("load", key)
	if err != nil {
		return nil, err
	}
	return &Log{Head: k.current(), Records: slices.Clip(k.records), Answers: k.pending()}, nil
}

func (m *memory) Append(_ context.Context, lease Lease, head Head, records []Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.runs[lease.Key]
	if k == nil {
		return fmt.Errorf("append to run %q: %w", lease.Key.ID, ErrConflict)
	}
	if err := CheckAppend(k.head, lease, head, records); err != nil {
		return err
	}
	head.Epoch, head.Held = k.head.Epoch, k.head.Held
	k.head, k.records = head, append(k.records, records...)
	return nil
}

func (m *memory) Answer(_ context.Context, key Key, answers []Answer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find("answer", key)
	if err != nil {
		return err
	}
	fresh, err := CheckAnswers(k.head, k.answers, answers)
	for _, a := range fresh {
		k.answers[a.Ask] = a
	}
	return err
}

func (m *memory) Acquire(_ context.Context, key Key, h Holder) (Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find("acquire", key)
	if err != nil {
		return Lease{}, err
	}
	now := time.Now()
	if now.Before(k.head.Held) {
		return Lease{}, fmt.Errorf("acquire run %q: %w", key.ID, ErrHeld)
	}
	k.head.Epoch++
	k.head.Held = now.Add(h.TTL)
	return Lease{key, k.head.Epoch}, nil
}

func (m *memory) Renew(_ context.Context, lease Lease, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.runs[lease.Key]
	if k == nil || k.head.Epoch != lease.Epoch {
		return fmt.Errorf("renew the lease of run %q: %w", lease.Key.ID, ErrConflict)
	}
	k.head.Held = time.Now().Add(ttl)
	return nil
}

func (m *memory) Release(_ context.Context, lease Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.runs[lease.Key]; k != nil && k.head.Epoch == lease.Epoch {
		k.head.Held = time.Time{}
	}
	return nil
}

func (m *memory) List(_ context.Context, q Query) iter.Seq2[Head, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	var heads []Head
	for _, k := range m.runs {
		if h := k.current(); q.Matches(h) {
			heads = append(heads, h)
		}
	}
	slices.SortFunc(heads, Head.compare)
	if q.Limit > 0 {
		heads = heads[:min(q.Limit, len(heads))]
	}
	return func(yield func(Head, error) bool) {
		for _, h := range heads {
			if !yield(h, nil) {
				return
			}
		}
	}
}

func (m *memory) Delete(_ context.Context, key Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.runs, key)
	return nil
}

func (m *memory) find(what string, key Key) (*kept, error) {
	if k := m.runs[key]; k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("%s run %q: %w", what, key.ID, ErrNotFound)
}

// current is the head with the number of answers to open questions.
func (k *kept) current() Head {
	h := k.head
	h.Answers = 0
	for _, id := range h.Asks {
		if _, ok := k.answers[id]; ok {
			h.Answers++
		}
	}
	return h
}

// pending are the answers to open questions.
func (k *kept) pending() (answers []Answer) {
	for _, id := range k.head.Asks {
		if a, ok := k.answers[id]; ok {
			answers = append(answers, a)
		}
	}
	return answers
}
