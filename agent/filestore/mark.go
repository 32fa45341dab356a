package filestore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// mark is an empty file by which lists find a run without opening the files of all others. A
// mark is created before the line that needs it, and removed after the line that makes it
// obsolete, both under the run's lock: a process that is killed may leave one too many, never
// one too few. Lists read the heads of the runs that they find. Marks that a power cut lost, or
// that another version or a copy did not create, are created by [directory.remark].
type mark struct {
	shelf string
	at    int64  // nanoseconds since 1970
	name  string // the name of the run's file
}

// The shelves are directories of marks.
const (
	dueShelf       = "due"     // runs that may be due, by their wake-up time: 0 if they are running or have a reply
	waitingShelves = "waiting" // waiting runs, by their last change: one shelf for each tenant, and one for all
)

// waitingShelf returns the shelf of a query for waiting runs. Some tenants share one.
func waitingShelf(q record.Query) string {
	if q.AllTenants {
		return filepath.Join(waitingShelves, "all")
	}
	sum := sha256.Sum256([]byte(q.Tenant))
	return filepath.Join(waitingShelves, hex.EncodeToString(sum[:4]))
}

func marksOf(h run.Head) (marks []mark) {
	add := func(shelf string, at int64) {
		marks = append(marks, mark{shelf, at, nameOf(h.Key)})
	}
	switch {
	case h.Status == run.StatusRunning, h.Status == run.StatusWaiting && h.ReplyCount > 0:
		add(dueShelf, 0)
	case h.Status == run.StatusWaiting && !h.Wake.IsZero():
		add(dueShelf, nanos(h.Wake))
	}
	if h.Status == run.StatusWaiting {
		add(waitingShelf(record.Query{AllTenants: true}), nanos(h.Updated))
		add(waitingShelf(record.Query{Tenant: h.Key.Tenant}), nanos(h.Updated))
	}
	return marks
}

// nanos returns a time as in a mark, 0 for one before 1970.
func nanos(t time.Time) int64 { return max(0, ledger.Nanos(t)) }

// A shelf has a directory for each 68 minutes, in it one for each 16 seconds, and in these the marks.
const (
	outerBits = 12
	innerBits = 4
)

func (m mark) dir() string {
	second := m.at / int64(time.Second)
	outer := fmt.Sprintf("%06x", second>>outerBits)
	inner := fmt.Sprintf("%02x", second>>innerBits&(1<<(outerBits-innerBits)-1))
	return filepath.Join(m.shelf, outer, inner)
}

func (m mark) file() string {
	return fmt.Sprintf("%s.%016x", strings.TrimSuffix(m.name, suffix), m.at)
}

func parseMark(shelf, file string) (mark, bool) {
	hash, nanoseconds, _ := strings.Cut(file, ".")
	at, err := strconv.ParseInt(nanoseconds, 16, 64)
	return mark{shelf, at, hash + suffix}, err == nil && isName(hash+suffix)
}

func (s *directory) createMark(m mark) error {
	dir := s.path(m.dir())
	for attempt := 1; ; attempt++ {
		f, err := s.files.OpenFile(filepath.Join(dir, m.file()), os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			return f.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) || attempt > maxCreates {
			return err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// maxCreates bounds how often a mark is created again because another process has removed its
// directory, which was empty.
const maxCreates = 100

// removeMark removes a mark, and its directories if they are empty. If that fails, remark removes the
// mark later.
func (s *directory) removeMark(m mark) {
	dir := s.path(m.dir())
	_ = s.files.Remove(filepath.Join(dir, m.file()))
	if m.at > 0 && s.files.Remove(dir) == nil {
		_ = s.files.Remove(filepath.Dir(dir))
	}
}

func (s *directory) removeMarks(have, want []mark) {
	for _, m := range have {
		if !slices.Contains(want, m) {
			s.removeMark(m)
		}
	}
}

func (s *directory) createMarks(have, want []mark) error {
	for _, m := range want {
		if slices.Contains(have, m) {
			continue
		}
		if err := s.createMark(m); err != nil {
			return fmt.Errorf("mark the run: %w", err)
		}
	}
	return nil
}

// walk visits the marks of a shelf up to a time, the latest first, until visit returns false.
func (s *directory) walk(shelf string, upTo int64, visit func(mark) (more bool, err error)) error {
	last := mark{shelf: shelf, at: upTo}.dir() // names of directories have equal lengths
	outers, err := s.dirNames(s.path(shelf))
	for _, outer := range slices.Backward(outers) {
		outer = filepath.Join(shelf, outer)
		if outer > filepath.Dir(last) {
			continue
		}
		inners, err := s.dirNames(s.path(outer))
		if err != nil {
			return err
		}
		for _, inner := range slices.Backward(inners) {
			inner = filepath.Join(outer, inner)
			if inner > last {
				continue
			}
			if more, err := s.walkDir(shelf, inner, upTo, visit); err != nil || !more {
				return err
			}
		}
	}
	return err
}

// walkDir visits the marks of a directory up to a time, the latest first.
func (s *directory) walkDir(
	shelf, dir string, upTo int64, visit func(mark) (more bool, err error),
) (more bool, err error) {
	names, err := s.dirNames(s.path(dir))
	if err != nil {
		return false, err
	}
	var marks []mark
	for _, name := range names {
		if m, ok := parseMark(shelf, name); ok && m.at <= upTo {
			marks = append(marks, m)
		}
	}
	slices.SortFunc(marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.name, b.name))
	})
	for _, m := range marks {
		if more, err := visit(m); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// dirNames returns the sorted names in a directory, none if it is absent.
func (s *directory) dirNames(path string) (names []string, err error) {
	entries, err := s.readDir(path)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// readDir reads a directory, which may be absent.
func (s *directory) readDir(path string) ([]fs.DirEntry, error) {
	entries, err := s.files.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}
