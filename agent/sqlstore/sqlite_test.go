//go:build unix

package sqlstore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"modernc.org/sqlite"
	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/agent/storetest"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

func inFile(t testing.TB) string { return filepath.Join(t.TempDir(), "runs.db") }

// opened returns a store in a database that the test closes.
func opened(t testing.TB, driver, dsn string) (sqlstore.Store, *sql.DB) {
	t.Helper()
	return job{Driver: driver, DSN: dsn}.open(t)
}

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) record.Store { store, _ := inSQLite(t).open(t); return store })
}

// No method waits for a connection that its caller holds, and lists of many pages work.
func TestSQLiteOfOneConnection(t *testing.T) {
	storetest.Run(t, func(t *testing.T) record.Store {
		store, db := inSQLite(t).open(t)
		db.SetMaxOpenConns(1)
		sqlstore.PageBy(store, 2)
		return store
	})
}

// TestShortList ends a list after its first run: most of the others are not read.
func TestShortList(t *testing.T) {
	store, db := inSQLite(t).open(t)
	check.Must(t, store.Release(t.Context(), ledgertest.Keep(t, store, ledgertest.Since(ledgertest.Start, &ledger.Begun{ID: "a"}))))
	const columns = "tenant, agent, status, updated, due, seq, head, answers, epoch, held, holder"
	check.Must(t, check.Err(db.ExecContext(t.Context(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
		INSERT INTO mcpchain_runs (id, `+columns+`) SELECT 'a' || i, `+columns+` FROM mcpchain_runs, n`)))
	read := func(most int) float64 {
		return testing.AllocsPerRun(2, func() {
			n := 0
			for range store.List(t.Context(), record.Query{}) {
				if n++; n == most {
					break
				}
			}
			check.Equal(t, "runs", n, most)
		})
	}
	first, all := read(1), read(1001)
	check.That(t, first < all/4, "got %v allocations for the first of 1001 runs, and %v for all", first, all)
}

// damaged returns a function that opens stores with a way to damage the head of a run.
func damaged(in func(testing.TB) job, statement string) func(t *testing.T) (record.Store, func(run.Key)) {
	return func(t *testing.T) (record.Store, func(run.Key)) {
		store, db := in(t).open(t)
		sqlstore.PageBy(store, 2)
		return store, func(key run.Key) {
			n, err := check.Value(db.ExecContext(t.Context(), statement, key.ID))(t).RowsAffected()
			check.Require(t, n == 1 && err == nil, "%d rows were changed, %v", n, err)
		}
	}
}

func TestSQLiteDamage(t *testing.T) {
	for name, statement := range map[string]string{
		"cut":     `UPDATE mcpchain_runs SET head = substr(head, 1, length(head) - 1) WHERE id = ?`,
		"changed": `UPDATE mcpchain_runs SET head = CAST(replace(CAST(head AS TEXT), '"asks":["a"]', '"asks":["b"]') AS BLOB) WHERE id = ?`,
		"empty":   `UPDATE mcpchain_runs SET head = x'' WHERE id = ?`,
	} {
		t.Run(name, func(t *testing.T) { storetest.Damage(t, damaged(inSQLite, statement)) })
	}
}

// grown returns a function that opens stores with a way to make a blob count as larger than it is.
func grown(in func(testing.TB) job) func(t *testing.T) (record.Store, func(run.Key, int64) record.Store) {
	return func(t *testing.T) (record.Store, func(run.Key, int64) record.Store) {
		store, db := in(t).open(t)
		return store, func(key run.Key, size int64) record.Store {
			execute(t, db, fmt.Sprintf(`UPDATE mcpchain_blobs SET size = %d`, size))
			return store
		}
	}
}

func TestSQLiteTenant(t *testing.T) { storetest.Tenant(t, grown(inSQLite)) }

func TestSQLiteReopen(t *testing.T) { storetest.Reopen(t, reopened(inSQLite(t))) }

// reopened returns a function that opens a store in a database, with the end of its process.
func reopened(j job) func(t *testing.T) (record.Store, func()) {
	return func(t *testing.T) (record.Store, func()) {
		store, db := j.open(t)
		return store, func() { _ = db.Close() }
	}
}

// A run with the key of a deleted one has another epoch, even while the clock stands still, as it does in the bubble.
func TestCreateWhileTheClockStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := opened(t, "sqlite", filepath.Join(t.TempDir(), "runs.db"))
		key := run.Key{ID: "r"}
		d, first := create(t, store, key)
		check.Must(t, store.Delete(t.Context(), key))
		_, second := create(t, store, key)
		check.That(t, second.Epoch > first.Epoch, "got the epoch %d after %d", second.Epoch, first.Epoch)
		check.Is(t, d.Append(t.Context(), store, first, notes("late", 1)...), record.ErrConflict, "the holder of the deleted run")
	})
}

// TestDeleteAfterTheClockWasSetBack deletes a run of a time to come, without a wait for that time.
func TestDeleteAfterTheClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := opened(t, "sqlite", filepath.Join(t.TempDir(), "runs.db"))
		start := time.Now()
		sqlstore.SetClock(store, fmt.Sprint("SELECT ", start.Add(time.Minute).UnixNano()))
		create(t, store, key)
		sqlstore.SetClock(store, "")
		check.NoError(t, store.Delete(t.Context(), key))
		check.Equal(t, "wait", time.Since(start), 0)
	})
}

// A program of version 1, which knows neither snapshots nor the duration of leases, writes to the tables of this one.
func TestTwoVersions(t *testing.T) {
	store, db := inSQLite(t).open(t)
	key := run.Key{ID: "r"}
	d, lease := create(t, store, key)
	check.Must(t, d.Append(t.Context(), store, lease, check.Value(ledger.NewSnapshot(d.State))(t)))
	data := d.Add(notes("b", 1)...)[0].JSON
	old := d.Head()
	old.Snapshot = 0
	head := check.Value(json.Marshal(old))(t)
	execute(t, db, fmt.Sprintf(`UPDATE mcpchain_runs SET agent = '', status = 'running', updated = 1, due = 1, seq = 3, head = '%s', answers = 0 WHERE id = 'r' AND seq = 2`, head),
		fmt.Sprintf(`INSERT INTO mcpchain_records (run, seq, sum, data) SELECT num, 3, %d, '%s' FROM mcpchain_runs`, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)), data),
		`UPDATE mcpchain_runs SET held = 1 WHERE id = 'r'`)
	log := check.Value(store.LoadCurrent(t.Context(), key))(t)
	got, err := ledger.StateOf(log.Records)
	check.That(t, err == nil && got.Seq == 3 && got.Snapshot == 2, "got %+v, %v, want the state at record 3", got, err)
	lease = check.Value(store.Acquire(t.Context(), key, record.Holder{TTL: time.Hour}))(t)
	check.Must(t, d.Append(t.Context(), store, lease, notes("c", 1)...))
	log, err = store.LoadCurrent(t.Context(), key)
	check.That(t, err == nil && len(log.Records) == 3, "got %d records, %v, want those from the snapshot on", len(log.Records), err)
}

// TestWriteAheadLogIsCut writes much, and checks that the log becomes short when it restarts.
func TestWriteAheadLogIsCut(t *testing.T) {
	file := inFile(t)
	store, _ := opened(t, "sqlite", file)
	d, lease := create(t, store, key)
	size := func() int64 { return check.Value(os.Stat(file + "-wal"))(t).Size() }
	check.Must(t, d.Append(t.Context(), store, lease, notes(strings.Repeat("x", 1<<20), 20)...))
	most := size()
	for range 3 { // the first checkpoint, and the first write after it
		check.Must(t, ledgertest.Renew(t.Context(), store, lease, time.Hour))
	}
	got := size()
	check.That(t, most >= 15<<20 && got <= 4<<20, "got a log of %d bytes after one of %d, want 4 MiB at most", got, most)
}

// TestSQLiteGivesSpaceBack checks that the file and the log shrink when many runs are deleted one by one.
func TestSQLiteGivesSpaceBack(t *testing.T) {
	file := inFile(t)
	store, db := opened(t, "sqlite", file)
	const runs = 60
	keyOf := func(i int) run.Key { return run.Key{ID: fmt.Sprint("run ", i)} }
	for i := range runs {
		d, lease := create(t, store, keyOf(i))
		check.Must(t, d.Append(t.Context(), store, lease, notes(strings.Repeat("x", 300<<10), 1)...))
	}
	size := func() (all int64) {
		execute(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
		for _, name := range []string{file, file + "-wal"} {
			all += check.Value(os.Stat(name))(t).Size()
		}
		return all
	}
	full := size()
	for i := range runs - 3 {
		check.Must(t, store.Delete(t.Context(), keyOf(i)))
	}
	left := size()
	check.That(t, left <= full/6, "got %d bytes of %d after all but 3 of %d runs were deleted", left, full, runs)
	for i := runs - 3; i < runs; i++ {
		check.NoError(t, check.Err(store.Load(t.Context(), keyOf(i))))
	}
	check.Equal(t, "integrity", value[string](t, db, "PRAGMA integrity_check"), "ok")
}

// live creates a run, replies, continues it as another holder, and deletes it.
func live(t *testing.T, store record.Store, key run.Key) {
	t.Helper()
	d, lease := create(t, store, key)
	check.Must(t, d.Append(t.Context(), store, lease, ledgertest.Question("a")))
	check.Must(t, ledgertest.Renew(t.Context(), store, lease, time.Minute))
	check.Must(t, store.Release(t.Context(), lease))
	check.Must(t, store.Reply(t.Context(), key, []run.Reply{{Question: "a", Action: run.ActionDecline}}))
	lease = check.Value(store.Acquire(t.Context(), key, record.Holder{TTL: time.Minute}))(t)
	check.Must(t, check.Err(store.Load(t.Context(), key)))
	check.Must(t, d.Append(t.Context(), store, lease, notes("x", 8)...))
	check.Must(t, store.Delete(t.Context(), key))
}

// TestLoadWaits checks that a new connection waits for a lock.
func TestLoadWaits(t *testing.T) {
	file := inFile(t)
	store, db := opened(t, "sqlite", file)
	create(t, store, key)
	db.SetMaxIdleConns(0) // so that each connection is new
	other := check.Value(sql.Open("sqlite", file+"?_pragma=locking_mode(EXCLUSIVE)"))(t)
	other.SetMaxOpenConns(1)
	execute(t, other, "BEGIN IMMEDIATE", "UPDATE mcpchain_schema SET version = version", "COMMIT") // holds its lock
	var direct *sqlite.Error
	_, err := db.ExecContext(t.Context(), "SELECT * FROM mcpchain_schema")
	check.Require(t, errors.As(err, &direct), "got %v, want the lock of another", err)
	released := time.AfterFunc(50*time.Millisecond, func() { _ = other.Close() })
	defer released.Stop()
	check.NoError(t, check.Err(store.Load(t.Context(), key)))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, check.Err(store.Load(ended, key)), context.Canceled, "an ended context")
}

// TestManyRecords appends more records at once than a statement has parameters for.
func TestManyRecords(t *testing.T) {
	databases(t, func(t *testing.T, j job) {
		store, _ := j.open(t)
		d, lease := create(t, store, key)
		for _, n := range []int{1, 8, 9, 1000, 17_000} {
			check.Must(t, d.Append(t.Context(), store, lease, notes("x", n)...))
		}
		check.Equal(t, "records", uint64(len(check.Value(store.Load(t.Context(), key))(t).Records)), d.State.Seq)
	})
}

// TestDatabasesThatLose checks that Open refuses a database that does not keep its commits.
func TestDatabasesThatLose(t *testing.T) {
	for name, c := range map[string]struct {
		job  job
		want string
	}{
		"SQLite in memory":       {job{Driver: "sqlite", DSN: ":memory:"}, `journal mode is "memory"`},
		"no file":                {job{Driver: "sqlite", DSN: t.TempDir()}, "unable to open"},
		"Postgres without syncs": {job{Driver: "pgx", DSN: server.dsn(t) + " synchronous_commit=off"}, "loses the last commits"},
	} {
		t.Run(name, func(t *testing.T) { check.Text(t, check.Err(c.job.store(t.Context(), c.job.connect(t))), c.want) })
	}
}

// TestSyncs checks that commits to SQLite are synced, whatever the DSN says. Leases are not,
// because all holders end with the machine; the connection that wrote one syncs again.
func TestSyncs(t *testing.T) {
	store, db := opened(t, "sqlite", inFile(t)+"?_pragma=synchronous(OFF)")
	db.SetMaxOpenConns(1) // so that the test queries the store's connection
	var d *ledgertest.Draft
	var lease record.Lease
	var first uint64
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"create", func() error { d, lease = create(t, store, key); return nil }},
		{"release", func() error { return store.Release(t.Context(), lease) }},
		{"acquire", func() (err error) {
			first = lease.Epoch
			lease, err = store.Acquire(t.Context(), key, record.Holder{TTL: time.Hour})
			return err
		}},
		{"append", func() error { return d.Append(t.Context(), store, lease, notes("x", 1)...) }},
		{"renew", func() error { return ledgertest.Renew(t.Context(), store, lease, time.Hour) }},
		{"refused", func() error {
			check.Is(t, check.Err(store.Acquire(t.Context(), run.Key{ID: "none"}, record.Holder{TTL: time.Hour})), record.ErrNotFound)
			return nil
		}},
		{"delete", func() error { return store.Delete(t.Context(), key) }},
	} {
		check.Must(t, step.do())
		check.Equal(t, step.name+": synchronous, for the host's own commits", value[int](t, db, "PRAGMA synchronous"), full)
	}
	if lease.Epoch < first+2 { // by the clock, in microseconds
		t.Errorf("got epoch %d after %d, want one that a lost lease cannot have had", lease.Epoch, first)
	}
	check.Equal(t, "journal mode", value[string](t, db, "PRAGMA journal_mode"), "wal")
}

// TestTables lets stores create the tables once, and an older program refuse newer tables.
func TestTables(t *testing.T) {
	databases(t, func(t *testing.T, j job) {
		_, db := j.open(t)
		check.Must(t, check.Err(j.store(t.Context(), db)))
		check.Equal(t, "versions", value[int](t, db, "SELECT count(*) FROM mcpchain_schema"), 1)
		execute(t, db, "UPDATE mcpchain_schema SET version = 99")
		_, err := j.store(t.Context(), db)
		check.Text(t, err, "version 99")
		check.Text(t, err, "up to 5")
	})
}

// full is the level of synchronous at which SQLite loses no commit.
const full = 2

func value[T any](t testing.TB, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, query string, args ...any) (v T) {
	t.Helper()
	check.Must(t, db.QueryRowContext(t.Context(), query, args...).Scan(&v))
	return v
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		check.Require(t, err == nil, "%s: %v", s, err)
	}
}
