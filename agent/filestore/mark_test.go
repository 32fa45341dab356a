package filestore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// heads returns the heads that a query selects, in order.
func heads(t testing.TB, s record.Store, q record.Query) (heads []run.Head) {
	t.Helper()
	for h, err := range s.List(ctx, q) {
		check.Must(t, err)
		heads = append(heads, h)
	}
	return heads
}

func idsOf(heads []run.Head) (ids []string) {
	for _, h := range heads {
		ids = append(ids, h.Key.ID)
	}
	return ids
}

// listed returns the ids that a query selects, in order.
func listed(t testing.TB, s record.Store, q record.Query) []string { return idsOf(heads(t, s, q)) }

// compareLists compares lists that use marks with the heads of all runs.
func compareLists(t testing.TB, s record.Store, what string) {
	t.Helper()
	all, now := heads(t, s, record.Query{AllTenants: true}), time.Now()
	for _, q := range []record.Query{
		{AllTenants: true, DueAt: now}, {AllTenants: true, DueAt: now.Add(time.Hour)}, {AllTenants: true, Status: run.StatusRunning},
		{AllTenants: true, Status: run.StatusWaiting}, {Status: run.StatusWaiting, Limit: 1}, {Tenant: key.Tenant, Status: run.StatusWaiting}, {AllTenants: true, Status: run.StatusWaiting, DueAt: now},
	} {
		selected := slices.DeleteFunc(slices.Clone(all), func(h run.Head) bool { return !q.Matches(h) })
		slices.SortFunc(selected, ledger.HeadOrder(!q.DueAt.IsZero()))
		want := idsOf(selected)
		if q.Limit > 0 {
			want = want[:min(q.Limit, len(want))]
		}
		check.Same(t, fmt.Sprintf("%s: %+v", what, q), listed(t, s, q), want)
	}
}

func (d *disk) marksOn() (marks []string) {
	for name := range d.names {
		if isMark(name) {
			marks = append(marks, name)
		}
	}
	return marks
}

func isMark(path string) bool {
	return strings.Contains(path, filestore.DueShelf) || strings.Contains(path, filestore.WaitingShelves)
}

// TestMarksOfAProcessThatEnds ends a process at every change of the disk. Another process,
// which compared the marks before, lists the right runs, and a third one leaves no wrong mark.
func TestMarksOfAProcessThatEnds(t *testing.T) {
	whole, dir := newDisk(), t.TempDir()
	play(whole.on(t, dir))
	for cut := 1; cut <= whole.changes; cut++ {
		d := newDisk()
		other := d.on(t, dir)
		listed(t, other, record.Query{AllTenants: true, DueAt: time.Now()})
		d.cut = cut
		made, _, _ := play(d.on(t, dir))
		d.cut = 0
		what := fmt.Sprintf("ended at change %d", cut)
		if made < len(steps) {
			what += ", in step " + steps[made].name
		}
		compareLists(t, other, what)
		third := d.on(t, dir)
		compareLists(t, third, what+", then compared")
		left := len(d.marksOn())
		want := len(listed(t, third, record.Query{AllTenants: true, DueAt: time.Now().Add(time.Hour)})) +
			2*len(listed(t, third, record.Query{AllTenants: true, Status: run.StatusWaiting}))
		check.Equal(t, what, left, want)
	}
}

// TestMarksAfterAPowerCut loses marks in a power cut. The next process lists the right runs.
func TestMarksAfterAPowerCut(t *testing.T) {
	whole, dir := newDisk(), t.TempDir()
	play(whole.on(t, dir))
	for cut := 1; cut <= whole.changes; cut += testenv.Step(3) {
		for fate := range fates {
			d := newDisk()
			d.cut = cut
			play(d.on(t, dir))
			compareLists(t, d.reboot(fate).on(t, dir), fmt.Sprintf("cut at change %d, %s", cut, fates[fate].name))
		}
	}
}

// TestFolderWithoutMarks lets a version without marks write to the directory, before this version and beside it.
func TestFolderWithoutMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, dir := newDisk(), t.TempDir()
		unmark := func() {
			for _, name := range d.marksOn() {
				delete(d.names, name)
			}
		}
		s := d.on(t, dir)
		create(t, s, run.Key{ID: "runs"})
		create(t, s, run.Key{ID: "waits"}, question("a"), &ledger.Suspended{Wake: time.Now().Add(time.Minute)})
		unmark()
		s = d.on(t, dir)
		compareLists(t, s, "alone")
		create(t, s, run.Key{ID: "later"})
		unmark()
		got := listed(t, s, record.Query{DueAt: time.Now()})
		check.That(t, len(got) == 0, "got %q: the marks are compared with the runs each time", got)
		time.Sleep(time.Minute)
		compareLists(t, s, "a minute later")
	})
}

// TestListsOpenFew counts what lists read of many waiting runs.
func TestListsOpenFew(t *testing.T) {
	d := newDisk()
	s := openOn(t, d, t.TempDir(), &filestore.Options{NoSync: true})
	for i := range 200 {
		create(t, s, run.Key{ID: fmt.Sprint(i), Tenant: fmt.Sprint(i % 2)}, question("a"), &ledger.Suspended{Wake: time.Now().Add(time.Hour)})
	}
	page := heads(t, s, record.Query{Tenant: "1", Status: run.StatusWaiting, Limit: 60})
	for _, c := range []struct {
		name string
		q    record.Query
		want int
	}{
		{"due", record.Query{AllTenants: true, DueAt: time.Now()}, 0},
		{"running", record.Query{AllTenants: true, Status: run.StatusRunning}, 0},
		{"waiting", record.Query{AllTenants: true, Status: run.StatusWaiting, Limit: 5}, 5},
		{"of a tenant", record.Query{Tenant: "1", Status: run.StatusWaiting, Limit: 5, After: &page[59]}, 5},
	} {
		d.sizes = 0
		got := listed(t, s, c.q)
		check.That(t, len(got) == c.want && d.sizes <= 200 && (c.want != 0 || d.sizes <= 0),
			"%s: got %q, and %d files were read", c.name, got, d.sizes)
	}
}

// fullTable is a disk whose files cannot be opened to read, because too many files are open.
type fullTable struct{ *disk }

func (d fullTable) OpenFile(name string, flag int, mode fs.FileMode) (filestore.File, error) {
	if flag == os.O_RDONLY {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
	}
	return d.disk.OpenFile(name, flag, mode)
}

// A list says that too many files are open, instead of that each run is damaged.
func TestListWhileTooManyFilesAreOpen(t *testing.T) {
	d, dir := newDisk(), t.TempDir()
	create(t, openOn(t, d, dir, nil), run.Key{ID: "sound"})
	for _, q := range []record.Query{{}, {DueAt: time.Now()}, {ID: "sound"}} {
		for _, err := range openOn(t, fullTable{d}, dir, nil).List(t.Context(), q) {
			check.That(t, errors.Is(err, syscall.EMFILE) && !errors.Is(err, record.ErrDamaged), "got %v, want the reason", err)
		}
	}
}

// TestMarkRefused checks that a change is refused if its mark cannot be created, because no process would find the run.
func TestMarkRefused(t *testing.T) {
	dir := t.TempDir()
	s := openOn(t, noMarks{filestore.OS()}, dir, nil)
	check.Is(t, check.Err(begin(s, key)), syscall.ENOSPC)
	check.Equal(t, "", content(t, s, key), "")
	check.Must(t, check.Err(begin(open(t, dir, nil), key)))
	check.Must(t, s.Delete(ctx, key))
	check.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		check.That(t, err != nil || e.IsDir() || !isMark(path), "%s is left", path)
		return err
	}))
}

// noMarks is a file system without room for another mark.
type noMarks struct{ filestore.FS }

func (f noMarks) OpenFile(name string, flag int, perm fs.FileMode) (filestore.File, error) {
	if flag&os.O_CREATE != 0 && strings.Contains(name, filestore.DueShelf) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
	}
	return f.FS.OpenFile(name, flag, perm)
}
