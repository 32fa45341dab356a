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

// wish is the content of such a file.
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
		data, err := json.Marshal(wish{key, t.head.Seq, t.head.Created})
		if err == nil {
			err = makeDirs(s.path(wishes))
		}
		if err == nil {
			err = s.writeChecked(filepath.Join(s.dir, wishes, nameOf(key)), data)
		}
		if err == nil && s.opts.Sync != SyncNever {
			err = s.opts.FS.SyncDir(s.path(wishes))
		}
		return err
	}))
}

// Wishes implements [record.Store]. It removes void wishes.
func (s *directory) Wishes(ctx context.Context) (open []record.Wish, err error) {
	err = ctx.Err()
	var names []string
	if err == nil {
		names, err = s.dirNames(wishes)
	}
	for _, name := range names {
		if !isName(name) || err != nil {
			continue
		}
		path := filepath.Join(s.dir, wishes, name)
		var w wish
		var h run.Head
		data, failed := s.readChecked(path)
		if failed == nil {
			failed = json.Unmarshal(data, &w)
		}
		if failed == nil {
			h, failed = s.headOf(ctx, name)
		}
		switch {
		case errors.Is(failed, record.ErrNotFound), failed == nil && (h.Status.Ended() || !h.Created.Equal(w.Created)):
			_ = s.opts.FS.Remove(path) // a wish for a new run of that key may be lost: CancelRun wishes again
		case failed == nil:
			open = append(open, record.Wish{Key: w.Key, Seq: w.Seq})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list wishes: %w", err)
	}
	return open, nil
}
