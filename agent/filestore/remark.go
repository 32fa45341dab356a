package filestore

import (
	"context"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
)

// marking records when the marks were last compared with the runs.
type marking struct {
	turn chan struct{} // has a buffer of one: a comparison fills it
	next time.Time     // when to compare again; guarded by turn
}

// The first list of a process compares the marks with the runs, later ones after remarkEvery.
// At most a thousandth of the time is spent on it.
const (
	remarkEvery = time.Minute
	remarkShare = 1000
)

// checkMarks compares the marks with the runs if it is time, and waits for another goroutine that does.
func (s *directory) checkMarks(ctx context.Context) error {
	select {
	case s.marking.turn <- struct{}{}:
		defer func() { <-s.marking.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	begin := time.Now()
	if begin.Before(s.marking.next) {
		return nil
	}
	if err := s.remark(ctx); err != nil {
		return err
	}
	end := time.Now()
	s.marking.next = end.Add(max(remarkEvery, remarkShare*end.Sub(begin)))
	return nil
}

// remark creates missing marks, and removes wrong ones.
func (s *directory) remark(ctx context.Context) error {
	have, err := s.allMarks()
	if err != nil {
		return err
	}
	names, err := s.runNames("")
	if err != nil {
		return err
	}
	wrong := maps.Clone(have) // also the marks of deleted runs
	for _, name := range names {
		hasWrong, err := s.remarkRun(ctx, name, have[name])
		if err != nil {
			return err
		}
		if !hasWrong {
			delete(wrong, name)
		}
	}
	for name, marks := range wrong {
		if err := s.removeWrong(ctx, name, marks); err != nil {
			return err
		}
	}
	return nil
}

func (s *directory) allMarks() (map[string][]mark, error) {
	shelves, err := s.dirNames(s.path(waitingShelves))
	if err != nil {
		return nil, err
	}
	for i, shelf := range shelves {
		shelves[i] = filepath.Join(waitingShelves, shelf)
	}
	all := map[string][]mark{}
	for _, shelf := range append(shelves, dueShelf) {
		err := s.walk(shelf, math.MaxInt64, func(m mark) (bool, error) {
			all[m.name] = append(all[m.name], m)
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// remarkRun creates the missing marks of a run, and reports whether it has wrong ones. A run that
// cannot be read may be due.
func (s *directory) remarkRun(ctx context.Context, name string, have []mark) (hasWrong bool, err error) {
	h, err := s.runHead(ctx, name)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, record.ErrNotFound):
		return true, nil
	case err != nil && len(have) > 0:
		return false, nil
	case err != nil:
		return false, s.createMark(mark{shelf: dueShelf, name: name})
	}
	want := marksOf(h)
	isWrong := func(m mark) bool { return !slices.Contains(want, m) }
	return slices.ContainsFunc(have, isWrong), s.createMarks(have, want)
}

// lockWait bounds the wait for the lock of a run with wrong marks: a process may have been
// stopped while it held the lock.
const lockWait = time.Second

// removeWrong removes the wrong ones of a run's marks. If it cannot take the lock, it leaves them for
// the next comparison.
func (s *directory) removeWrong(ctx context.Context, name string, marks []mark) error {
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	_ = s.locked(waiting, name, func() error {
		h, err := s.lastHead(name)
		switch {
		case err == nil:
			s.removeMarks(marks, marksOf(h))
		case errors.Is(err, record.ErrNotFound):
			s.removeMarks(marks, nil)
		}
		return nil
	})
	return ctx.Err()
}
