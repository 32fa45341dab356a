package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// withFile calls do with the file of a run, which it opens with the flag of [os.OpenFile] and closes. The
// error matches [record.ErrNotFound] if there is none.
func (s *directory) withFile(name string, flag int, do func(file) error) error {
	f, err := s.files.OpenFile(s.path(name), flag, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return record.ErrNotFound
	}
	if err != nil {
		return err
	}
	err = do(f)
	return errors.Join(err, f.Close())
}

// readEnd reads the last line of a file, and all of it after a crash. If that fails, the tip may
// have the head of an earlier line.
func (s *directory) readEnd(f file, name string) (tip, error) {
	size, err := f.Size()
	if err != nil {
		return tip{}, err
	}
	t, ok, err := readTip(f, size)
	if err != nil {
		return tip{}, err
	}
	if !ok {
		c, err := s.read(f, name)
		if c != nil {
			t = c.tip
		}
		if err != nil {
			return t, err
		}
	}
	return t, s.checkKey(t, name)
}

type content struct {
	tip     tip
	records []run.Record
	replies map[string]run.Reply // by question, including closed ones
}

func (s *directory) read(f file, name string) (*content, error) { return s.readFrom(f, name, 0) }

// readFrom reads a file from the line that begins at an offset. With an error the content may be
// nil, or the content of the readable lines.
func (s *directory) readFrom(f file, name string, at int64) (*content, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > s.maxFile {
		return nil, fmt.Errorf("%s has %d bytes, and may have %d", s.path(name), size, s.maxFile)
	}
	data := make([]byte, max(0, size-at))
	if err := readAt(f, data, at); err != nil {
		return nil, err
	}
	c, err := parse(data, at)
	if err != nil {
		return c, fmt.Errorf("%s: %w", s.path(name), err)
	}
	return c, s.checkKey(c.tip, name)
}

func (s *directory) checkKey(t tip, name string) error {
	if key := t.head.Key; nameOf(key) != name {
		return fmt.Errorf("%s has run %q of tenant %q: %w", s.path(name), key.ID, key.Tenant, record.ErrCorrupt)
	}
	return nil
}

// parse parses the content of a file from an offset on. After an error it returns the content of the
// lines before the one that cannot be read.
func parse(data []byte, at int64) (*content, error) {
	c := &content{replies: map[string]run.Reply{}}
	t, err := scan(data, at, func(raw []byte) error {
		l, err := decode(raw)
		if err != nil {
			return err
		}
		c.records = append(c.records, l.Records...)
		for _, r := range l.Replies {
			c.replies[r.Question] = r
		}
		return c.checkNumbers(at, l.Head.Seq)
	})
	if err == nil && t.end == at { // not even one line is complete
		err = fmt.Errorf("line 1: %w", record.ErrCorrupt)
	}
	c.tip = t
	return c, err
}

// checkNumbers returns an error unless the records begin a run, or are from the middle of a file, and
// continue without a gap to number seq.
func (c *content) checkNumbers(at int64, seq uint64) error {
	n := len(c.records)
	if n == 0 || at == 0 && !ledger.Begins(c.records[0]) {
		return fmt.Errorf("record is not the first: %w", record.ErrCorrupt)
	}
	if c.records[n-1].Seq != seq || c.records[0].Seq+uint64(n)-1 != seq {
		return fmt.Errorf("record is not the next: %w", record.ErrCorrupt)
	}
	return nil
}

func (s *directory) Load(ctx context.Context, key run.Key) (*record.Log, error) {
	return s.load(ctx, key, s.read)
}

// LoadCurrent implements [record.Store]. It reads the file from the last snapshot on.
func (s *directory) LoadCurrent(ctx context.Context, key run.Key) (*record.Log, error) {
	log, err := s.load(ctx, key, s.readCurrent)
	if err != nil {
		return nil, err
	}
	log.Records = ledger.Current(log.Head, log.Records)
	return log, nil
}

// readCurrent reads a file from its last snapshot on, or all of it if the offset is unknown, or if a
// reply to an open question stands before the snapshot.
func (s *directory) readCurrent(f file, name string) (*content, error) {
	t, err := s.readEnd(f, name)
	if err != nil || t.head.Current == 0 {
		return s.read(f, name)
	}
	c, err := s.readFrom(f, name, t.head.Current)
	if err != nil || len(c.pending()) < c.tip.head.ReplyCount {
		return s.read(f, name) // after an error for the number of the line
	}
	return c, nil
}

func (s *directory) load(
	ctx context.Context, key run.Key, read func(file, string) (*content, error),
) (*record.Log, error) {
	var c *content
	name := nameOf(key)
	err := s.readComplete(ctx, name, func(f file) (complete bool, err error) {
		if c, err = read(f, name); err != nil {
			return false, err
		}
		return !c.tip.torn && !c.tip.bare, nil
	})
	if err != nil {
		return nil, wrap("load", key, err)
	}
	return &record.Log{Head: c.tip.head.Head, Records: c.records, Replies: c.pending()}, nil
}

// pending returns the replies to open questions.
func (c *content) pending() []run.Reply { return ledger.RepliesTo(c.tip.head.QuestionIDs, c.replies) }

// readComplete calls read with a file. If that fails or the content is incomplete, another process may
// be writing, so it calls read once more, under the lock: what is incomplete then was left by a
// crash. read has to forget what it has read before.
func (s *directory) readComplete(ctx context.Context, name string, read func(file) (complete bool, err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	complete := false
	readOnce := func() error {
		return s.withFile(name, os.O_RDONLY, func(f file) (err error) {
			complete, err = read(f)
			return err
		})
	}
	if err := readOnce(); complete || errors.Is(err, record.ErrNotFound) {
		return err
	}
	return s.locked(ctx, name, readOnce)
}

func isName(name string) bool {
	return len(name) == len(nameOf(run.Key{})) && strings.HasSuffix(name, suffix)
}

func (s *directory) runNames(dir string) ([]string, error) {
	names, err := s.dirNames(s.path(dir))
	return slices.DeleteFunc(names, func(name string) bool { return !isName(name) }), err
}

// runHead returns the head of the run in a file. With an error it has at most the key, from lines
// that could be read.
func (s *directory) runHead(ctx context.Context, name string) (h run.Head, err error) {
	err = s.readComplete(ctx, name, func(f file) (complete bool, err error) {
		t, err := s.readEnd(f, name)
		h = t.head.Head
		if err != nil {
			h = run.Head{}
			if key := t.head.Key; nameOf(key) == name {
				h.Key = key
			}
		}
		return err == nil && !t.torn && !t.bare, err
	})
	return h, err
}
