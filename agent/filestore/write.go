package filestore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

func (s *directory) Create(
	ctx context.Context, h record.Holder, head run.Head, records []run.Record,
) (record.Lease, error) {
	if err := record.CheckRecords(nil, record.Lease{}, head, records); err != nil {
		return record.Lease{}, err
	}
	lease := record.Lease{Key: head.Key, Seq: head.Seq, Created: head.Created}
	err := s.locked(ctx, nameOf(head.Key), func() (err error) {
		lease.Epoch, err = s.create(h, head, records)
		return err
	})
	return subject.Result(lease, err, "create run %q", head.Key.ID)
}

func (s *directory) create(h record.Holder, first run.Head, records []run.Record) (epoch uint64, err error) {
	name := nameOf(first.Key)
	err = s.withFile(name, os.O_RDONLY, func(file) error { return record.ErrExists })
	if !errors.Is(err, record.ErrNotFound) {
		return 0, err
	}
	now := s.now()
	first.Epoch, first.HeldUntil, first.TTL = ledger.FirstEpoch(now), now.Add(h.TTL), h.TTL
	l := &line{Records: records, Head: head{Head: first, Holder: h.Name}.withReplies(nil)}
	return first.Epoch, s.replace(s.path(name), func(f file) error { return s.write(f, tip{}, l, s.sync) })
}

// Append implements [record.Store]. It reads the last line of the file, and with replies as much as
// Reply does.
func (s *directory) Append(
	ctx context.Context, lease record.Lease, next run.Head, records []run.Record, replies ...run.Reply,
) error {
	err := s.changeAs(ctx, lease, func(f file, t tip) error {
		if err := record.CheckRecords(&t.head.Head, lease, next, records); err != nil {
			return err
		}
		fresh, err := s.freshReplies(f, t.head, replies)
		if err != nil {
			return err
		}
		l := &line{Records: records, Replies: fresh, Head: t.head.afterAppend(next, records, t.end).withReplies(fresh)}
		return s.write(f, t, l, s.sync)
	})
	return wrap("append to", lease.Key, err)
}

// Reply implements [record.Store]. It reads the file from the last snapshot on, and all of it
// for replies to closed questions.
func (s *directory) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	return wrap("answer", key, s.change(ctx, key, func(f file, t tip) error {
		fresh, err := s.freshReplies(f, t.head, replies)
		switch {
		case err != nil:
			return err
		case len(fresh) > 0:
			return s.write(f, t, &line{Replies: fresh, Head: t.head.withReplies(fresh)}, s.sync)
		case len(replies) > 0:
			return s.syncFile(f) // the process that wrote the reply may have ended before its sync
		}
		return nil
	}))
}

// freshReplies returns the replies that the run does not have yet, see [record.CheckReplies]. It reads the
// file from the last snapshot on if all questions are open.
func (s *directory) freshReplies(f file, h head, replies []run.Reply) ([]run.Reply, error) {
	if len(replies) == 0 {
		return nil, nil
	}
	read := s.readCurrent
	if slices.ContainsFunc(replies, func(r run.Reply) bool { return !slices.Contains(h.QuestionIDs, r.Question) }) {
		read = s.read
	}
	c, err := read(f, nameOf(h.Key))
	if err != nil {
		return nil, err
	}
	return record.CheckReplies(h.Head, c.replies, replies)
}

// lastHead returns the head of a run, whose lock the caller holds. With an error it is zero.
func (s *directory) lastHead(name string) (h run.Head, err error) {
	err = s.withFile(name, os.O_RDONLY, func(f file) error {
		t, err := s.readEnd(f, name)
		if err == nil {
			h = t.head.Head
		}
		return err
	})
	return h, err
}

// change calls do with the file and the last line of a run, under its lock.
func (s *directory) change(ctx context.Context, key run.Key, do func(file, tip) error) error {
	name := nameOf(key)
	return s.locked(ctx, name, func() error {
		return s.withFile(name, os.O_RDWR, func(f file) error {
			t, err := s.readEnd(f, name)
			if err != nil {
				return err
			}
			return do(f, t)
		})
	})
}

// changeAs is change for the holder of a run. The error matches [record.ErrConflict] if the lease
// is not the latest, or the run was deleted.
func (s *directory) changeAs(ctx context.Context, lease record.Lease, do func(file, tip) error) error {
	err := s.change(ctx, lease.Key, func(f file, t tip) error {
		if t.head.Epoch != lease.Epoch {
			return record.ErrConflict
		}
		return do(f, t)
	})
	if errors.Is(err, record.ErrNotFound) {
		return record.ErrConflict
	}
	return err
}

// write appends a line to a file, after it has repaired what a crash has left at its end. The
// marks that the line needs are made first, and those that it makes obsolete removed last. If the
// write fails, the file is truncated to its old end. If that fails, too, the next change cuts what is
// left, unless that is the complete line.
func (s *directory) write(f file, t tip, l *line, sync bool) error {
	if err := s.repair(f, t); err != nil {
		return err
	}
	data, err := encode(l, trailer{at: t.end, synced: t.synced, sync: sync || !s.sync})
	if err != nil {
		return err
	}
	if err := s.checkSize(l, t.end, int64(len(data))); err != nil {
		return err
	}
	have, want := marksOf(t.head.Head), marksOf(l.Head.Head)
	if err := s.createMarks(have, want); err != nil {
		return err
	}
	if err := writeAt(f, data, t.end, sync); err != nil {
		_ = f.Truncate(t.end)
		return err
	}
	s.removeMarks(have, want)
	return nil
}

// writeAt writes data at an offset, and makes the file durable if sync is true.
func writeAt(f file, data []byte, at int64, sync bool) error {
	if _, err := f.WriteAt(data, at); err != nil || !sync {
		return err
	}
	return f.Sync()
}

// checkSize returns an error if a line of that size may not be written at the end of a file. Room
// remains for leases, replies and the end of the run.
func (s *directory) checkSize(l *line, end, size int64) error {
	reserve := int64(0)
	if !l.Head.Status.Ended() && size > smallLine {
		reserve = min(maxReserve, s.maxFile/reserveShare)
	}
	switch {
	case size > s.maxLine:
		return fmt.Errorf("%w: the change has %d bytes, and at most %d are kept at once",
			record.ErrTooLarge, size, s.maxLine)
	case end+size > s.maxFile-reserve:
		return fmt.Errorf("%w: the file would have %d bytes, and may have %d", record.ErrTooLarge, end+size, s.maxFile)
	}
	return nil
}

const (
	smallLine    = 4 << 10 // bytes of a line that may use the reserve of a file
	maxReserve   = 1 << 20 // bytes
	reserveShare = 16      // the reserve of a small file is 1/reserveShare of it
)

// repair completes the last line of a file if a crash has left it without its line break, and
// cuts what a crash has left after it, before something shorter replaces that.
func (s *directory) repair(f file, t tip) error {
	if t.bare {
		if _, err := f.WriteAt([]byte{'\n'}, t.end-1); err != nil {
			return err
		}
	}
	if !t.torn {
		return nil
	}
	if err := f.Truncate(t.end); err != nil {
		return err
	}
	return s.syncFile(f)
}

// replace calls write to fill a file under another name, and renames it to path, so that the file at
// path is complete, or as it was before. It makes the name durable; write does that for the content.
func (s *directory) replace(path string, write func(file) error) error {
	unfinished := filepath.Join(s.dir, "new-"+rand.Text()) // a name that private.Sweep knows
	f, err := s.files.OpenFile(unfinished, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = write(f)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = s.files.Rename(unfinished, path)
	}
	if err != nil {
		return errors.Join(err, s.files.Remove(unfinished))
	}
	return s.syncDir(filepath.Dir(path))
}

func (s *directory) syncFile(f file) error {
	if !s.sync {
		return nil
	}
	return f.Sync()
}

func (s *directory) syncDir(dir string) error {
	if !s.sync {
		return nil
	}
	return s.files.SyncDir(dir)
}

// wrap adds the operation and the run to an error that does not name them. It keeps nil.
func wrap(what string, key run.Key, err error) error {
	return subject.Wrap(err, "%s run %q", what, key.ID)
}

// Prune implements [record.Store]. It writes a file that begins with the last snapshot, and
// replaces the old one.
func (s *directory) Prune(ctx context.Context, lease record.Lease) error {
	return wrap("prune", lease.Key, s.locked(ctx, nameOf(lease.Key), func() error { return s.prune(lease) }))
}

func (s *directory) prune(lease record.Lease) error {
	name := nameOf(lease.Key)
	var c *content
	err := s.withFile(name, os.O_RDONLY, func(f file) (err error) { // closes it: Windows does not replace an open file
		c, err = s.read(f, name)
		return err
	})
	switch {
	case errors.Is(err, record.ErrNotFound), err == nil && c.tip.head.Epoch != lease.Epoch:
		return record.ErrConflict
	case err != nil || c.records[0].Seq >= c.tip.head.Snapshot:
		return err
	}
	return s.rewrite(name, c)
}

// rewrite replaces a file by one line: the records from the last snapshot on, and all replies, also
// those to closed questions. If it fails, the old file stays.
func (s *directory) rewrite(name string, c *content) error {
	l := &line{Records: c.records[c.tip.head.Snapshot-c.records[0].Seq:], Head: c.tip.head}
	l.Head.Current = 0
	for _, r := range c.replies {
		l.Replies = append(l.Replies, r)
	}
	data, err := encode(l, trailer{sync: true})
	if err != nil {
		return err
	}
	return s.replace(s.path(name), func(f file) error { return writeAt(f, data, 0, s.sync) })
}
