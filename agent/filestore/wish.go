package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// wishes is the directory of wishes: a file for each, with the name of the run's file. Lists
// and other versions ignore it.
const wishes = "wishes"

// wish is the content of a file in that directory.
type wish struct {
	Key     run.Key   `json:"key"`
	Seq     uint64    `json:"seq"`
	Created time.Time `json:"created"` // of the run, because a later one may have its key
}

// Wish implements [record.Store].
func (s *directory) Wish(ctx context.Context, key run.Key) error {
	return of("wish the end of", key, s.change(ctx, key, func(_ File, t tip) error {
		if t.head.Status.Ended() {
			return nil
		}
		return s.keepWish(wish{key, t.head.Seq, t.head.Created})
	}))
}

func (s *directory) keepWish(w wish) error {
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if err := makeDirs(s.path(wishes)); err != nil {
		return err
	}
	if err := s.writeChecked(filepath.Join(s.dir, wishes, nameOf(w.Key)), data); err != nil || s.opts.Sync == SyncNever {
		return err
	}
	return s.opts.FS.SyncDir(s.path(wishes))
}

// Wishes implements [record.Store]. It removes the wishes for runs that have ended or do not
// exist, and skips damaged ones and those for damaged runs.
func (s *directory) Wishes(ctx context.Context) (open []record.Wish, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list wishes: %w", err)
	}
	names, err := s.dirNames(wishes)
	if err != nil {
		return nil, fmt.Errorf("list wishes: %w", err)
	}
	for _, name := range names {
		if !isName(name) {
			continue
		}
		w, err := s.wishIn(ctx, name)
		if ended := ctx.Err(); ended != nil {
			return nil, fmt.Errorf("list wishes: %w", ended)
		}
		if err == nil && w != nil {
			open = append(open, record.Wish{Key: w.Key, Seq: w.Seq})
		}
	}
	return open, nil
}

// wishIn returns the wish in a file, or nil after removing one that no longer applies.
func (s *directory) wishIn(ctx context.Context, name string) (*wish, error) {
	path := filepath.Join(s.dir, wishes, name)
	data, err := s.readChecked(path)
	if err != nil {
		return nil, err
	}
	w := new(wish)
	if err := json.Unmarshal(data, w); err != nil {
		return nil, err
	}
	h, err := s.headOf(ctx, name)
	if errors.Is(err, record.ErrNotFound) || err == nil && (h.Status.Ended() || !h.Created.Equal(w.Created)) {
		// The file may hold a newer wish by now, for a new run with that key. CancelRun wishes again.
		_ = s.opts.FS.Remove(path)
		return nil, nil
	}
	return w, err
}
