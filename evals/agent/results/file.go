package results

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/private"
)

// File is a file of lines, which one program at a time has open. Its methods may be called concurrently.
type File struct {
	f      *os.File
	unlock func() error

	mu    sync.Mutex  // guards the fields below, and is held while a line is written, so that lines follow each other
	size  int64       // of the file, up to the end of the last line
	lines []*Line     // the last one of each trial
	index map[Key]int // index of a trial's line
}

// lockWait is how long Open waits for a program that ends.
const lockWait = time.Second

// Open opens a file, and creates it if necessary, with a lock file beside it. It removes an incomplete last line, and
// refuses a file with other content, or one that another program has open.
func Open(name string) (*File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	r := &File{f: f, unlock: func() error { return nil }, index: map[Key]int{}}
	if err = r.lock(name + ".lock"); err == nil {
		err = r.load()
	}
	if err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// lock takes the lock in a file, where the system has locks.
func (f *File) lock(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	unlock, err := private.Lock(ctx, path)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("another program writes its results there")
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case err != nil:
		return err
	}
	f.unlock = unlock
	return nil
}

// lineStart is how each line starts: with the first field of [Line].
const lineStart = `{"suite":"`

// load reads the lines, and removes what follows the last line break: a program that was killed wrote it in part.
func (f *File) load() error {
	data, err := io.ReadAll(f.f)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	lines, err := Parse(data[:whole])
	if err != nil {
		return err
	}
	if rest := string(data[whole:]); !strings.HasPrefix(rest, lineStart) && !strings.HasPrefix(lineStart, rest) {
		return fmt.Errorf("line %d is not a result of a trial", len(lines)+1)
	}
	for _, l := range lines {
		f.putLocked(l)
	}
	f.size = int64(whole)
	return f.f.Truncate(f.size)
}

// putLocked stores the line of a trial, and replaces an earlier one.
func (f *File) putLocked(l *Line) {
	if i, ok := f.index[l.Key()]; ok {
		f.lines[i] = l
		return
	}
	f.index[l.Key()] = len(f.lines)
	f.lines = append(f.lines, l)
}

// countsLocked reports whether a trial has a line that is not void.
func (f *File) countsLocked(key Key) bool {
	i, ok := f.index[key]
	return ok && f.lines[i].Outcome != Void
}

// Has reports whether a trial has a line that counts. Void trials are repeated.
func (f *File) Has(key Key) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.countsLocked(key)
}

// Add appends a line, which is durable when Add returns, and keeps it. It replaces the line of a void trial; another
// second line is an error.
func (f *File) Add(l *Line) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.countsLocked(l.Key()) {
		return fmt.Errorf("trial %d of task %q has a line", l.Trial, l.Task)
	}
	data = append(data, '\n')
	if _, err = f.f.WriteAt(data, f.size); err == nil {
		err = f.f.Sync()
	}
	if err != nil {
		return errors.Join(err, f.f.Truncate(f.size)) // remove what was written of the line
	}
	f.size += int64(len(data))
	f.putLocked(l)
	return nil
}

// Lines returns the last line of each trial, which the caller must not change.
func (f *File) Lines() []*Line {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lines)
}

// Close closes the file.
func (f *File) Close() error { return errors.Join(f.f.Close(), f.unlock()) }
