package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
)

// open opens the file of a run. The error for none matches [run.ErrNotFound].
func (s *Store) open(name string, flag int) (File, error) {
	f, err := s.opts.FS.OpenFile(s.path(name), flag, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, run.ErrNotFound
	}
	return f, err
}

// readEnd reads the last line of a file, and more of it only after a crash.
func (s *Store) readEnd(f File, name string) (tip, error) {
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
	return t, s.belongs(t, name)
}

// content is all of a file.
type content struct {
	tip     tip
	records []run.Record
	answers map[string]run.Answer // by question, also the ones to closed questions
}

// read reads a file.
func (s *Store) read(f File, name string) (*content, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > s.opts.MaxFile {
		return nil, fmt.Errorf("%s has %d bytes, and may have %d", s.path(name), size, s.opts.MaxFile)
	}
	data := make([]byte, size)
	if err := readAt(f, data, 0); err != nil {
		return nil, err
	}
	c, err := parse(data)
	if err != nil {
		return c, fmt.Errorf("%s: %w", s.path(name), err)
	}
	return c, s.belongs(c.tip, name)
}

// belongs checks that a file has the name that its content gives it.
func (s *Store) belongs(t tip, name string) error {
	if key := t.head.Key; nameOf(key) != name {
		return fmt.Errorf("%s is of run %q of tenant %q: %w", s.path(name), key.ID, key.Tenant, run.ErrCorrupt)
	}
	return nil
}

// parse reads the content of a file.
func parse(data []byte) (*content, error) {
	c := &content{answers: map[string]run.Answer{}}
	t, err := scan(span{data: data, line: 1}, func(raw []byte) error {
		l, err := decode(raw)
		if err != nil {
			return err
		}
		c.records = append(c.records, l.Records...)
		for _, a := range l.Answers {
			c.answers[a.Ask] = a
		}
		if n := len(c.records); n == 0 || l.Head.Seq != uint64(n) || c.records[n-1].Seq != uint64(n) {
			return fmt.Errorf("its record is not the next: %w", run.ErrCorrupt)
		}
		return nil
	})
	if err == nil && t.end == 0 {
		err = fmt.Errorf("line 1: %w", run.ErrCorrupt) // a file begins with a whole line
	}
	c.tip = t
	return c, err
}

// Load implements [run.Store].
func (s *Store) Load(ctx context.Context, key run.Key) (*run.Log, error) {
	c, err := s.load(ctx, key)
	if err != nil {
		return nil, of("load", key, err)
	}
	log := &run.Log{Head: c.tip.head.Head, Records: c.records}
	for _, ask := range log.Head.Asks {
		if a, ok := c.answers[ask]; ok {
			log.Answers = append(log.Answers, a)
		}
	}
	return log, nil
}

func (s *Store) load(ctx context.Context, key run.Key) (c *content, err error) {
	name := nameOf(key)
	err = s.calm(ctx, name, func(f File) (whole bool, err error) {
		if c, err = s.read(f, name); err != nil {
			return false, err
		}
		return !c.tip.torn && !c.tip.bare, nil
	})
	return c, err
}

// calm calls read with a file. If its content is not whole, another process may be writing: read is
// called once more, with the lock.
func (s *Store) calm(ctx context.Context, name string, read func(File) (whole bool, err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	whole, err := s.opened(name, read)
	if whole || errors.Is(err, run.ErrNotFound) {
		return err
	}
	unlock, err := s.lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = s.opened(name, read)
	return err
}

func (s *Store) opened(name string, read func(File) (bool, error)) (bool, error) {
	f, err := s.open(name, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	whole, err := read(f)
	return whole, errors.Join(err, f.Close())
}

// List implements [run.Store]. It reads the end of each file. Files that cannot be read come after all runs
// that it could read; one that does not say whose run it has is a matter of lists of all tenants.
func (s *Store) List(ctx context.Context, q run.Query) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) {
		heads, damaged, err := s.list(ctx, q)
		for _, h := range heads {
			if !yield(h, nil) {
				return
			}
		}
		for _, d := range damaged {
			if !yield(run.Head{Key: d.Key}, d) {
				return
			}
		}
		if err != nil {
			yield(run.Head{}, fmt.Errorf("list runs: %w", err))
		}
	}
}

func (s *Store) list(ctx context.Context, q run.Query) (heads []run.Head, damaged []*run.DamagedError, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	entries, err := s.opts.FS.ReadDir(s.dir)
	if err != nil {
		return nil, nil, err
	}
	only := ""
	if q.ID != "" && !q.AllTenants {
		only = nameOf(run.Key{Tenant: q.Tenant, ID: q.ID})
	}
	for _, e := range entries {
		if !isName(e.Name()) || only != "" && e.Name() != only {
			continue
		}
		h, err := s.headOf(ctx, e.Name())
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case errors.Is(err, run.ErrNotFound): // deleted meanwhile
		case err != nil:
			if only != "" {
				h.Key = run.Key{Tenant: q.Tenant, ID: q.ID}
			}
			if q.AllTenants || h.Key.ID != "" && h.Key.Tenant == q.Tenant {
				damaged = append(damaged, &run.DamagedError{Key: h.Key, Err: err})
			}
		case q.Matches(h):
			heads = append(heads, h)
		}
	}
	slices.SortFunc(heads, q.Compare)
	if q.Limit > 0 {
		heads = heads[:min(q.Limit, len(heads))]
		damaged = damaged[:min(q.Limit-len(heads), len(damaged))]
	}
	return heads, damaged, nil
}

// isName reports whether a file is of a run.
func isName(name string) bool {
	return len(name) == len(nameOf(run.Key{})) && strings.HasSuffix(name, suffix)
}

// headOf reads the head of a file. If it cannot be read, the key is that of the lines before, if they have it.
func (s *Store) headOf(ctx context.Context, name string) (h run.Head, err error) {
	err = s.calm(ctx, name, func(f File) (whole bool, err error) {
		t, err := s.readEnd(f, name)
		if h = t.head.Head; err != nil && nameOf(h.Key) != name {
			h.Key = run.Key{}
		}
		return err == nil && !t.torn && !t.bare, err
	})
	return h, err
}
