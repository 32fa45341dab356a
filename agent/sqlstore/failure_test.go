//go:build unix

package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// TestDamage checks that a store notices damaged rows.
func TestDamage(t *testing.T) {
	for name, damage := range map[string]string{
		"a byte of a record":        "UPDATE mcpchain_records SET data = CAST(replace(CAST(data AS text), 'text', 'test') AS BLOB) WHERE seq = 3",
		"a missing record":          "DELETE FROM mcpchain_records WHERE seq = 2",
		"the last record":           "DELETE FROM mcpchain_records WHERE seq = 4",
		"the number of a row":       "UPDATE mcpchain_records SET seq = 9 WHERE seq = 3",
		"no records":                "DELETE FROM mcpchain_records",
		"a head":                    "UPDATE mcpchain_runs SET head = CAST('{' AS BLOB)",
		"the head of another":       "UPDATE mcpchain_runs SET head = CAST('{\"key\":{\"id\":\"2\"},\"seq\":4}' AS BLOB)",
		"data that is not a record": "UPDATE mcpchain_records SET data = CAST('[]' AS BLOB), sum = 1984806262",
	} {
		t.Run(name, func(t *testing.T) {
			store, db := inSQLite(t).open(t)
			d, lease := create(t, store, key)
			check.Must(t, d.Append(t.Context(), store, lease, notes("x", 3)...))
			execute(t, db, damage)
			check.Is(t, check.Err(store.Load(t.Context(), key)), record.ErrCorrupt)
			check.Is(t, check.Err(store.LoadCurrent(t.Context(), key)), record.ErrCorrupt)
		})
	}
}

// TestFailsAlone lets the database refuse one of many appends that share commits.
func TestFailsAlone(t *testing.T) {
	store, db := inSQLite(t).open(t)
	execute(t, db, `CREATE TRIGGER bad BEFORE UPDATE ON mcpchain_runs WHEN NEW.id = 'bad' BEGIN SELECT RAISE(ABORT, 'out of luck'); END`)
	ids := append(strings.Split("abcdefghijklmnopqrstuvwxyz", ""), "bad")
	errs := make([]error, len(ids))
	drafts, leases := make([]*ledgertest.Draft, len(ids)), make([]record.Lease, len(ids))
	for i, id := range ids {
		drafts[i], leases[i] = create(t, store, run.Key{ID: id})
	}
	release := locked(t, db)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { errs[i] = drafts[i].Append(t.Context(), store, leases[i], notes("x", 1)...) })
	}
	release()
	wg.Wait()
	for i, id := range ids {
		log := check.Value(store.Load(t.Context(), run.Key{ID: id}))(t)
		bad := id == "bad"
		check.That(t, bad == (errs[i] != nil) && (!bad || strings.Contains(errs[i].Error(), "out of luck")) && bad == (log.Head.Seq == 1), "run %q: got %v and %d records", id, errs[i], log.Head.Seq)
	}
}

// locked takes SQLite's lock with a connection of its own.
func locked(t *testing.T, db *sql.DB) (release func()) {
	t.Helper()
	conn := check.Value(db.Conn(t.Context()))(t)
	check.Must(t, check.Err(conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")))
	return func() {
		check.NoError(t, check.Err(conn.ExecContext(t.Context(), "COMMIT")))
		_ = conn.Close()
	}
}

func watched(t *testing.T) (*instrumented, sqlstore.Store, *sql.DB) {
	c := &instrumented{file: inFile(t)}
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return c, check.Value(sqlstore.OpenSQLite(t.Context(), db))(t), db
}

// TestConnectionsThatFail checks that a connection is not used again if the beginning or end of its transaction failed.
func TestConnectionsThatFail(t *testing.T) {
	for _, operation := range []string{"begin", "commit", "commit of a lease", "rollback"} {
		t.Run(operation, func(t *testing.T) {
			c, store, db := watched(t)
			db.SetMaxOpenConns(1)
			d, lease := create(t, store, key)
			check.Must(t, d.Append(t.Context(), store, lease, notes("x", 3)...))
			c.fails, _, _ = strings.Cut(operation, " ")
			switch operation {
			case "rollback":
				check.Is(t, check.Err(store.Acquire(t.Context(), run.Key{ID: "none"}, record.Holder{})), record.ErrNotFound)
			case "commit":
				check.Is(t, store.Delete(t.Context(), run.Key{ID: "none"}), errInstrumented)
			default:
				check.Is(t, ledgertest.Renew(t.Context(), store, lease, time.Minute), errInstrumented)
			}
			check.Equal(t, "what did not happen", c.fails, "")
			check.Equal(t, "synchronous", value[int](t, db, "PRAGMA synchronous"), full)
			check.NoError(t, d.Append(t.Context(), store, lease, notes("y", 1)...))
		})
	}
}

// TestAcquireMeetsRelease releases a run that an acquisition has just found held, as another process can with Postgres.
func TestAcquireMeetsRelease(t *testing.T) {
	c, store, _ := watched(t)
	_, first := create(t, store, key)
	check.Must(t, ledgertest.Renew(t.Context(), store, first, time.Minute))
	released := false
	c.onQuery = func(ctx context.Context, conn driver.ExecerContext, text string) {
		if strings.HasPrefix(text, "SELECT holder") {
			check.NoError(t, check.Err(conn.ExecContext(ctx, "UPDATE mcpchain_runs SET held = 0, ttl = 0", nil)))
			released = true
		}
	}
	second, err := store.Acquire(t.Context(), key, record.Holder{TTL: time.Minute})
	check.That(t, err == nil && second.Epoch > first.Epoch && released,
		"got epoch %d after %d, %v, released %t, want a higher one", second.Epoch, first.Epoch, err, released)
}

// An acquisition that fails beside others changes nothing, and the others, which are made again, have the same results.
func TestDamagedHeadIsNotTaken(t *testing.T) {
	store, db := inSQLite(t).open(t)
	ids := []string{"a", "gone", "bad", "b", "c"}
	for _, id := range ids {
		if id != "gone" {
			create(t, store, run.Key{ID: id})
		}
	}
	execute(t, db, `UPDATE mcpchain_runs SET head = CAST('{' AS BLOB) WHERE id = 'bad'`)
	errs := make([]error, len(ids))
	release := locked(t, db)
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			if key := (run.Key{ID: id}); id == "gone" {
				check.Is(t, ledgertest.Renew(t.Context(), store, record.Lease{Key: key}, time.Hour), record.ErrConflict, id)
			} else {
				_, errs[i] = store.Acquire(t.Context(), key, record.Holder{TTL: time.Hour})
			}
		})
		for changes, committing := 0, false; changes != i || !committing; changes, committing = sqlstore.Waiting(store) {
			runtime.Gosched() // the first one commits, and the others wait to share the next commit
		}
	}
	release()
	wg.Wait()
	for i, id := range ids {
		bad := id == "bad"
		check.That(t, bad == errors.Is(errs[i], record.ErrCorrupt) && (bad || errs[i] == nil), "run %q: got %v", id, errs[i])
	}
	check.Equal(t, "the damaged run is held", value[int](t, db, `SELECT count(*) FROM mcpchain_runs WHERE id = 'bad' AND holder = ''`), 0)
}

// TestTextOfOthers keeps a name that is not UTF-8.
func TestTextOfOthers(t *testing.T) {
	store, _ := inSQLite(t).open(t)
	d := ledgertest.New(key)
	head := d.Head()
	head.Agent = "caf\xe9"
	check.Must(t, check.Err(store.Create(t.Context(), record.Holder{}, head, d.Records)))
	check.Equal(t, "agent", check.Value(store.Load(t.Context(), key))(t).Head.Agent, "caf\ufffd")
}

// TestTriesAgain lets Postgres refuse transactions because of others: the store tries again, a bounded number of times.
func TestTriesAgain(t *testing.T) {
	for _, code := range []string{"40001", "40P01"} {
		store, db := inPostgres(t).open(t)
		d, lease := create(t, store, key)
		execute(t, db, `CREATE SEQUENCE tries`, `CREATE TABLE bound AS SELECT 3 AS n`,
			`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF nextval('tries') <= (SELECT n FROM bound) THEN RAISE EXCEPTION 'met another' USING ERRCODE = '`+code+`'; END IF;
				RETURN NEW;
			END $$`,
			`CREATE TRIGGER refuse BEFORE INSERT ON mcpchain_records FOR EACH ROW EXECUTE FUNCTION refuse()`)
		check.NoError(t, d.Append(t.Context(), store, lease, notes("x", 1)...), code)
		execute(t, db, `UPDATE bound SET n = 1000000`)
		check.Text(t, d.Append(t.Context(), store, lease, notes("x", 1)...), code, code)
		check.Equal(t, code, value[int](t, db, `SELECT last_value FROM tries`), 4+8)
	}
}

// instrumented is SQLite's driver. It lets an operation fail.
type instrumented struct {
	sqlite sqlite.Driver
	file   string
	fails  string // begin, commit or rollback; fails once

	// onQuery, if set, is called before a query of a transaction.
	onQuery func(ctx context.Context, conn driver.ExecerContext, text string)
}

var errInstrumented = errors.New("out of luck: database is locked")

func (i *instrumented) fail(operation string) error {
	if i.fails != operation {
		return nil
	}
	i.fails = ""
	return errInstrumented
}

func (i *instrumented) Connect(context.Context) (driver.Conn, error) {
	conn, err := i.sqlite.Open(i.file)
	if err != nil {
		return nil, err
	}
	return &instrumentedConn{conn.(sqliteConn), i}, nil
}

func (i *instrumented) Driver() driver.Driver { return &i.sqlite }

// sqliteConn is the interface of the driver's connections.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type instrumentedConn struct {
	sqliteConn
	of *instrumented
}

func (c *instrumentedConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	stmt, err := c.sqliteConn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return &instrumentedStmt{stmt.(sqliteStmt), c, text}, nil
}

func (c *instrumentedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if err := c.of.fail("begin"); err != nil {
		return nil, err
	}
	tx, err := c.sqliteConn.BeginTx(ctx, o)
	return &instrumentedTx{tx, c.of}, err
}

// instrumentedTx stays open if its end fails.
type instrumentedTx struct {
	driver.Tx
	of *instrumented
}

func (t *instrumentedTx) Commit() error {
	if err := t.of.fail("commit"); err != nil {
		return err
	}
	return t.Tx.Commit()
}

func (t *instrumentedTx) Rollback() error {
	if err := t.of.fail("rollback"); err != nil {
		return err
	}
	return t.Tx.Rollback()
}

type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type instrumentedStmt struct {
	sqliteStmt
	conn *instrumentedConn
	text string
}

func (s *instrumentedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	of := s.conn.of
	if of.onQuery != nil {
		of.onQuery(ctx, s.conn.sqliteConn, s.text)
	}
	return s.sqliteStmt.QueryContext(ctx, args)
}
