package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// File is a file of lines. Its methods may be called concurrently.
type File struct {
	f *os.File

	mu    sync.Mutex  // guards the following fields
	size  int64       // of the file, up to the end of the last line
	lines []*Line     // the last one of each trial
	index map[Key]int // index of a trial's line
}

// Open opens a file, and creates it if necessary. It removes an incomplete last line, and refuses a file with other
// content.
func Open(name string) (*File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	r := &File{f: f, index: map[Key]int{}}
	if err := r.load(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// lineStart is how each line starts.
const lineStart = `{"suite":"`

// load reads the lines, and removes what follows the last line break: a program that was killed wrote it in part.
func (f *File) load() error {
	data, err := os.ReadFile(f.f.Name())
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

// Parse parses lines of JSON. The error names the number of a line that is not a result.
func Parse(data []byte) (lines []*Line, err error) {
	n := 0
	for text := range bytes.Lines(data) {
		n++
		l := &Line{}
		if err := json.Unmarshal(text, l); err != nil {
			return nil, fmt.Errorf("line %d is not a result of a trial: %w", n, err)
		}
		if l.Suite == "" {
			return nil, fmt.Errorf("line %d is not a result of a trial", n)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// Has reports whether a trial has a line that counts. Void trials are repeated.
func (f *File) Has(key Key) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.countsLocked(key)
}

// Add appends a line, which is durable when Add returns. It replaces the line of a void trial. A second line of
// another trial is an error.
func (f *File) Add(l *Line) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.countsLocked(l.Key()) {
		return fmt.Errorf("trial %v has a line", l.Key())
	}
	data = append(data, '\n')
	if _, err := f.f.WriteAt(data, f.size); err != nil {
		return errors.Join(err, f.f.Truncate(f.size)) // what was written of the line
	}
	f.size += int64(len(data))
	f.putLocked(l)
	return f.f.Sync()
}

// Lines returns the last line of each trial.
func (f *File) Lines() []*Line {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.lines)
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }
