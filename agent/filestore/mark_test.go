package filestore_test

import (
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

// listed returns the ids that a query selects, in order.
func listed(t testing.TB, s record.Store, q record.Query) (ids []string) {
	t.Helper()
	for h, err := range s.List(ctx, q) {
		check.Must(t, err)
		ids = append(ids, h.Key.ID)
	}
	return ids
}

// compareLists compares lists that use marks with the heads of all runs.
func compareLists(t testing.TB, s record.Store, what string) {
	t.Helper()
	var all []run.Head
	for h, err := range s.List(ctx, record.Query{AllTenants: true}) {
		check.Must(t, err)
		all = append(all, h)
	}
	now := time.Now()
	for _, q := range []record.Query{
		{AllTenants: true, DueAt: now}, {AllTenants: true, DueAt: now.Add(time.Hour)}, {AllTenants: true, Status: run.StatusRunning},
		{AllTenants: true, Status: run.StatusWaiting}, {Status: run.StatusWaiting, Limit: 1}, {Tenant: key.Tenant, Status: run.StatusWaiting}, {AllTenants: true, Status: run.StatusWaiting, DueAt: now},
	} {
		var heads []run.Head
		for _, h := range all {
			if q.Matches(h) {
				heads = append(heads, h)
			}
		}
		slices.SortFunc(heads, q.Compare)
		var want []string
		for _, h := range heads {
			if want = append(want, h.Key.ID); len(want) == q.Limit {
				break
			}
		}
		if got := listed(t, s, q); !slices.Equal(got, want) {
			t.Errorf("%s: %+v: got %q, want %q", what, q, got, want)
		}
	}
}

// marksOn returns the marks on a disk.
func (d *disk) marksOn() (marks []string) {
	for name := range d.names {
		if strings.Contains(name, filestore.DueShelf) || strings.Contains(name, filestore.WaitingShelves) {
			marks = append(marks, name)
		}
	}
	return marks
}

// TestMarksOfAProcessThatEnds ends a process at every change of the disk. Another process,
// which compared the marks before, lists the right runs, and a third one leaves no wrong mark.
func TestMarksOfAProcessThatEnds(t *testing.T) {
	whole, dir := newDisk(), t.TempDir()
	play(whole.on(t, dir, filestore.SyncEveryEffect), filestore.SyncEveryEffect)
	for cut := 1; cut <= whole.changes; cut++ {
		d := newDisk()
		other := d.on(t, dir, filestore.SyncEveryEffect)
		listed(t, other, record.Query{AllTenants: true, DueAt: time.Now()})
		d.cut = cut
		made, _, _ := play(d.on(t, dir, filestore.SyncEveryEffect), filestore.SyncEveryEffect)
		d.cut = 0
		what := fmt.Sprintf("ended at change %d", cut)
		if made < len(steps) {
			what += ", in step " + steps[made].name
		}
		compareLists(t, other, what)
		third := d.on(t, dir, filestore.SyncEveryEffect)
		compareLists(t, third, what+", then compared")
		left := len(d.marksOn())
		want := len(listed(t, third, record.Query{AllTenants: true, DueAt: time.Now().Add(time.Hour)})) +
			2*len(listed(t, third, record.Query{AllTenants: true, Status: run.StatusWaiting}))
		if left != want {
			t.Errorf("%s: got the marks %q, want %d", what, d.marksOn(), want)
		}
	}
}

// TestMarksAfterAPowerCut loses marks in a power cut. The next process lists the right runs.
func TestMarksAfterAPowerCut(t *testing.T) {
	whole, dir := newDisk(), t.TempDir()
	play(whole.on(t, dir, filestore.SyncEveryEffect), filestore.SyncEveryEffect)
	for cut := 1; cut <= whole.changes; cut += testenv.Step(3) {
		for fate := range fates {
			d := newDisk()
			d.cut = cut
			play(d.on(t, dir, filestore.SyncEveryEffect), filestore.SyncEveryEffect)
			compareLists(t, d.reboot(fate).on(t, dir, filestore.SyncEveryEffect), fmt.Sprintf("cut at change %d, %s", cut, fates[fate].name))
		}
	}
}

// TestFolderWithoutMarks lets a version without marks write to the directory, before this
// version and beside it.
func TestFolderWithoutMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, dir := newDisk(), t.TempDir()
		unmark := func() {
			for _, name := range d.marksOn() {
				delete(d.names, name)
			}
		}
		s := d.on(t, dir, filestore.SyncEveryEffect)
		create(t, s, run.Key{ID: "runs"})
		create(t, s, run.Key{ID: "waits"}, question("a"), &ledger.Suspended{Wake: time.Now().Add(time.Minute)})
		unmark()
		s = d.on(t, dir, filestore.SyncEveryEffect)
		compareLists(t, s, "alone")

		create(t, s, run.Key{ID: "later"})
		unmark()
		if got := listed(t, s, record.Query{DueAt: time.Now()}); len(got) > 0 {
			t.Errorf("got %q: the marks are compared with the runs each time", got)
		}
		time.Sleep(time.Minute)
		compareLists(t, s, "a minute later")
	})
}

// TestListsOpenFew counts what lists read of many waiting runs.
func TestListsOpenFew(t *testing.T) {
	d := newDisk()
	s := d.on(t, t.TempDir(), filestore.SyncNever)
	for i := range 200 {
		create(t, s, run.Key{ID: fmt.Sprint(i), Tenant: fmt.Sprint(i % 2)}, question("a"), &ledger.Suspended{Wake: time.Now().Add(time.Hour)})
	}
	var last run.Head
	for head, err := range s.List(ctx, record.Query{Tenant: "1", Status: run.StatusWaiting, Limit: 60}) {
		check.Must(t, err)
		last = head
	}
	for _, c := range []struct {
		name string
		q    record.Query
		want int
	}{
		{"due", record.Query{AllTenants: true, DueAt: time.Now()}, 0},
		{"running", record.Query{AllTenants: true, Status: run.StatusRunning}, 0},
		{"waiting", record.Query{AllTenants: true, Status: run.StatusWaiting, Limit: 5}, 5},
		{"of a tenant", record.Query{Tenant: "1", Status: run.StatusWaiting, Limit: 5, After: &last}, 5},
	} {
		d.sizes = 0
		got := listed(t, s, c.q)
		if len(got) != c.want || d.sizes > 200 || c.want == 0 && d.sizes > 0 {
			t.Errorf("%s: got %q, and %d files were read", c.name, got, d.sizes)
		}
	}
}

// TestMarkRefused checks that a change is refused if its mark cannot be created, because no
// process would find the run.
func TestMarkRefused(t *testing.T) {
	dir := t.TempDir()
	s := openOn(t, noMarks{filestore.OS()}, dir, nil)
	check.Is(t, check.Err(begin(s, key)), syscall.ENOSPC)
	check.Equal(t, "", content(t, s, key), "")
	check.Must(t, check.Err(begin(open(t, dir, nil), key)))
	check.Must(t, s.Delete(ctx, key))
	for _, shelf := range []string{filestore.DueShelf, filestore.WaitingShelves} {
		err := filepath.WalkDir(filepath.Join(dir, shelf), func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				t.Errorf("%s is left", path)
			}
			return err
		})
		check.NoError(t, err)
	}
}

// noMarks is a file system without room for another mark.
type noMarks struct{ filestore.FS }

func (f noMarks) OpenFile(name string, flag int, perm fs.FileMode) (filestore.File, error) {
	if flag&os.O_CREATE != 0 && strings.Contains(name, filestore.DueShelf) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
	}
	return f.FS.OpenFile(name, flag, perm)
}
