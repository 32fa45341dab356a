package filestore

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"

	"github.com/mcpchain/mcpchain/agent/run/record"
)

// Prune implements [record.Pruner]. It writes a file that begins with the last snapshot, and
// replaces the old one.
func (s *directory) Prune(ctx context.Context, lease record.Lease) error {
	err := s.change(ctx, lease.Key, func(f File, t tip) error {
		if t.head.Epoch != lease.Epoch {
			return record.ErrConflict
		}
		name := nameOf(lease.Key)
		c, err := s.read(f, name)
		if err != nil || c.records[0].Seq >= c.tip.head.Snapshot {
			return err
		}
		return s.rewrite(name, c)
	})
	if errors.Is(err, record.ErrNotFound) {
		err = record.ErrConflict
	}
	return of("prune", lease.Key, err)
}

// rewrite writes a file that begins with the last snapshot. If it fails, the old file stays.
func (s *directory) rewrite(name string, c *content) error {
	unfinished := filepath.Join(s.dir, "new-"+rand.Text()) // a name that private.Sweep knows
	f, err := s.opts.FS.OpenFile(unfinished, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	l := &line{Records: c.records[c.tip.head.Snapshot-c.records[0].Seq:], Head: c.tip.head}
	l.Head.Current = 0
	for _, a := range c.replies {
		l.Replies = append(l.Replies, a)
	}
	data, err := encode(l, end{sync: true})
	if err == nil {
		_, err = f.WriteAt(data, 0)
	}
	if err == nil && s.opts.Sync != SyncNever {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.opts.FS.Rename(unfinished, s.path(name))
	}
	if err != nil {
		return errors.Join(err, s.opts.FS.Remove(unfinished))
	}
	return s.syncDir()
}
