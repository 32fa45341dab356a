package filestore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"syscall"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// List implements [record.Store]. It reads the last line of a file for each run that it may select: one
// with an id, those that may be due or are running, or as many waiting ones as the page has. Other lists
// read the last line of every file. Files that cannot be read come after all other runs; if even the key
// of a file cannot be read, only lists of all tenants have it.
//
// Due and waiting runs that another version of this package has written, or that were copied
// into the directory, may be missing for a minute, or for a thousand times as long as it takes
// to read all last lines.
func (s *directory) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) {
		l := listing{store: s, q: q, seen: map[string]bool{}}
		if err := l.read(ctx); err != nil {
			yield(run.Head{}, fmt.Errorf("list runs: %w", err))
			return
		}
		heads, damaged := l.page()
		for _, h := range heads {
			if !yield(h, nil) {
				return
			}
		}
		for _, d := range damaged {
			if !yield(run.Head{Key: d.key}, d.err) {
				return
			}
		}
	}
}

type listing struct {
	store   *directory
	q       record.Query
	heads   []run.Head
	damaged []damage
	seen    map[string]bool // files that were read: a process that was killed may have left a second mark
}

// damage is a run that cannot be read.
type damage struct {
	key run.Key // zero if it cannot be read either
	err error
}

func (l *listing) read(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q := l.q
	if q.ID != "" && !q.AllTenants {
		_, err := l.add(ctx, nameOf(run.Key{Tenant: q.Tenant, ID: q.ID}))
		return err
	}
	if q.DueAt.IsZero() && q.Status != run.StatusRunning && q.Status != run.StatusWaiting {
		return l.readAll(ctx)
	}
	if err := l.store.checkMarks(ctx); err != nil {
		return err
	}
	switch {
	case !q.DueAt.IsZero():
		return l.readDue(ctx, nanos(q.DueAt))
	case q.Status == run.StatusRunning:
		return l.readDue(ctx, 0)
	}
	return l.readWaiting(ctx)
}

func (l *listing) readAll(ctx context.Context) error {
	names, err := l.store.runNames("")
	for _, name := range names {
		if _, err := l.add(ctx, name); err != nil {
			return err
		}
	}
	return err
}

func (l *listing) readDue(ctx context.Context, at int64) error {
	return l.store.walk(dueShelf, at, func(m mark) (bool, error) {
		_, err := l.add(ctx, m.name)
		return err == nil, err
	})
}

// readWaiting reads the waiting runs, newest change first, until the page is full.
func (l *listing) readWaiting(ctx context.Context) error {
	upTo := int64(math.MaxInt64)
	if after := l.q.After; after != nil {
		upTo = nanos(after.Updated)
	}
	if !l.q.ChangedBefore.IsZero() {
		upTo = min(upTo, nanos(l.q.ChangedBefore))
	}
	return l.store.walk(waitingShelf(l.q), upTo, func(m mark) (bool, error) {
		isFull := l.q.Limit > 0 && len(l.heads) >= l.q.Limit
		if isFull && m.at < nanos(l.heads[len(l.heads)-1].Updated) {
			return false, nil
		}
		added, err := l.add(ctx, m.name)
		if n := len(l.heads); added && nanos(l.heads[n-1].Updated) != m.at { // the run has another mark
			l.heads = l.heads[:n-1]
			delete(l.seen, m.name)
		}
		return err == nil, err
	})
}

// add reads the head of a run, and adds it if the query selects it.
func (l *listing) add(ctx context.Context, name string) (added bool, err error) {
	if l.seen[name] {
		return false, nil
	}
	l.seen[name] = true
	h, err := l.store.runHead(ctx, name)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, record.ErrNotFound): // deleted meanwhile
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE): // too many files are open; the run may be sound
		return false, err
	case err != nil:
		if l.q.ID != "" && !l.q.AllTenants {
			h.Key = run.Key{Tenant: l.q.Tenant, ID: l.q.ID}
		}
		if l.maySelect(h.Key) {
			l.damaged = append(l.damaged, damage{h.Key, fmt.Errorf("%w: %w", record.ErrDamaged, err)})
		}
	case l.q.Matches(h):
		l.heads = append(l.heads, h)
		return true, nil
	}
	return false, nil
}

// maySelect reports whether the query may select a run that cannot be read. The key is zero if that cannot be read either.
func (l *listing) maySelect(key run.Key) bool {
	if key.ID == "" {
		return l.q.AllTenants
	}
	return (l.q.AllTenants || l.q.Tenant == key.Tenant) && (l.q.ID == "" || l.q.ID == key.ID)
}

func (l *listing) page() ([]run.Head, []damage) {
	heads, damaged := l.heads, l.damaged
	slices.SortFunc(heads, ledger.HeadOrder(!l.q.DueAt.IsZero()))
	if l.q.Limit > 0 {
		heads = heads[:min(l.q.Limit, len(heads))]
		damaged = damaged[:min(l.q.Limit-len(heads), len(damaged))]
	}
	return heads, damaged
}
