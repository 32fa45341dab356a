//go:build unix

package sqlstore_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// childJob is the environment variable that makes the test binary a process that appends to a run.
const childJob = "SQLSTORE_CHILD"

// What tests take from package ledgertest, by the names that they use often.
var create = ledgertest.Create
var notes = ledgertest.Notes

type job struct {
	Driver, DSN string
	Hold        time.Duration
}

func (j job) store(ctx context.Context, db *sql.DB) (sqlstore.Store, error) {
	if j.Driver == "pgx" {
		return sqlstore.OpenPostgres(ctx, db)
	}
	return sqlstore.OpenSQLite(ctx, db)
}

func (j job) connect(t testing.TB) *sql.DB {
	t.Helper()
	db := check.Value(sql.Open(j.Driver, j.DSN))(t)
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(8)
	return db
}

func (j job) open(t testing.TB) (sqlstore.Store, *sql.DB) {
	t.Helper()
	db := j.connect(t)
	store := check.Value(j.store(t.Context(), db))(t)
	return store, db
}

var key = run.Key{Tenant: "acme", ID: "one"}

// child acquires a run, and appends to it for each line of its input, or without end if the
// input is not a pipe. It prints the number of each stored record, or an error.
func child(text string) {
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.run(context.Background())
	}
	fmt.Println("error", errors.Is(err, record.ErrConflict), err)
}

func (j job) run(ctx context.Context) error {
	db, err := sql.Open(j.Driver, j.DSN)
	if err != nil {
		return err
	}
	store, err := j.store(ctx, db)
	if err != nil {
		return err
	}
	lease, err := store.Acquire(ctx, key, record.Holder{Name: "child", TTL: j.Hold})
	if err != nil {
		return err
	}
	log, err := store.Load(ctx, key)
	if err != nil {
		return err
	}
	d := ledgertest.Of(log.Records)
	fmt.Println(d.State.Seq)
	for in := bufio.NewScanner(os.Stdin); j.Hold == 0 || in.Scan(); {
		if err := d.Append(ctx, store, lease, notes("by the child", 3)...); err != nil {
			return err
		}
		fmt.Println(d.State.Seq)
	}
	return nil
}

type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func begun(t *testing.T, j job) *process {
	t.Helper()
	data := check.Value(json.Marshal(j))(t)
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), childJob+"="+string(data))
	p.Stderr = os.Stderr
	p.in = check.Value(p.StdinPipe())(t)
	out := check.Value(p.StdoutPipe())(t)
	p.out = bufio.NewReader(out)
	check.Must(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	return p
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	line := check.Value(p.out.ReadString('\n'))(t)
	return strings.TrimSpace(line)
}

// seq reads the number of a record that the child has appended.
func (p *process) seq(t *testing.T) (seq uint64) {
	t.Helper()
	line := p.line(t)
	_, err := fmt.Sscanf(line, "%d", &seq)
	check.Require(t, err == nil, "got %q, want a number", line)
	return seq
}

func databases(t *testing.T, test func(t *testing.T, j job)) {
	t.Run("SQLite", func(t *testing.T) { test(t, inSQLite(t)) })
	t.Run("Postgres", func(t *testing.T) { test(t, inPostgres(t)) })
}

func inSQLite(t testing.TB) job { return job{Driver: "sqlite", DSN: inFile(t)} }

func inPostgres(t testing.TB) job { return job{Driver: "pgx", DSN: server.dsn(t)} }

// TestStoppedProcess stops a process that holds a run, lets another one take over the run, and continues the first.
func TestStoppedProcess(t *testing.T) {
	databases(t, func(t *testing.T, j job) {
		store, _ := j.open(t)
		d, _ := create(t, store, key)
		j.Hold = 200 * time.Millisecond
		p := begun(t, j)
		p.seq(t)
		check.Must(t, check.Err(io.WriteString(p.in, "go\n")))
		d.Add(notes("by the child", 3)...)
		got := p.seq(t)
		check.Require(t, got == d.State.Seq, "got record %d, want %d", got, d.State.Seq)
		signal(t, p, syscall.SIGSTOP)
		lease, err := record.Lease{}, record.ErrHeld
		for errors.Is(err, record.ErrHeld) {
			lease, err = store.Acquire(t.Context(), key, record.Holder{Name: "parent", TTL: time.Hour})
		}
		check.Must(t, err)
		check.Must(t, check.Err(io.WriteString(p.in, "go\n")))
		signal(t, p, syscall.SIGCONT)
		line := p.line(t)
		check.That(t, strings.HasPrefix(line, "error true"), "got %q, want a conflict", line)
		check.Must(t, d.Append(t.Context(), store, lease, notes("by the parent", 1)...))
		check.Equal(t, "records", check.Value(store.Load(t.Context(), key))(t).Head.Seq, d.State.Seq)
	})
}

func signal(t *testing.T, p *process, s os.Signal) {
	t.Helper()
	check.Must(t, p.Process.Signal(s))
}

// Stores with connections of their own write to one database. In SQLite, a transaction that reads before it writes has the lock.
func TestProcessesAtOnce(t *testing.T) {
	databases(t, func(t *testing.T, j job) {
		var wg sync.WaitGroup
		for program := range 4 {
			store, _ := j.open(t)
			wg.Go(func() {
				for i := range 50 {
					key := run.Key{ID: fmt.Sprint(program, "-", i)}
					d, lease := create(t, store, key)
					check.NoError(t, d.Append(t.Context(), store, lease, ledgertest.Question("a")))
					check.NoError(t, store.Reply(t.Context(), key, []run.Reply{{Question: "a", Action: run.ActionDecline}}))
				}
			})
		}
		wg.Wait()
	})
}

// TestKilledProcess kills 50 processes while they append. What they reported is stored, each commit in full.
func TestKilledProcess(t *testing.T) {
	databases(t, func(t *testing.T, j job) {
		store, _ := j.open(t)
		create(t, store, key)
		for i := range 50 {
			p := begun(t, j)
			last := p.seq(t)
			for range i % 7 {
				last = p.seq(t)
			}
			signal(t, p, os.Kill)
			for {
				line, err := p.out.ReadString('\n')
				if err != nil {
					break
				}
				check.Must(t, check.Err(fmt.Sscanf(line, "%d", &last)))
			}
			_ = p.Wait()
			log := check.Value(store.Load(t.Context(), key))(t)
			check.Require(t, log.Head.Seq >= last && log.Head.Seq%3 == 1, "kill %d: got %d records, want %d and commits of 3", i, log.Head.Seq, last)
			check.Must(t, check.Err(ledger.StateOf(log.Records)))
		}
	})
}

// Each change is made while another program writes to the database without a pause: none may find it locked.
func TestBesideAnotherProgram(t *testing.T) {
	databases(t, func(t *testing.T, j job) {
		store, _ := j.open(t)
		other, _ := j.open(t)
		busy, lease := create(t, other, run.Key{ID: "busy"})
		ctx, stop := context.WithCancel(t.Context())
		var writer sync.WaitGroup
		defer writer.Wait()
		defer stop()
		writer.Go(func() {
			for ctx.Err() == nil {
				check.NoError(t, busy.Append(t.Context(), other, lease, notes("x", 1)...))
			}
		})
		for range 10 {
			d, lease := create(t, store, key, ledgertest.Question("a"))
			check.NoError(t, store.PutBlob(t.Context(), lease, "blob", []byte("data")))
			check.NoError(t, store.RequestCancel(t.Context(), key))
			check.NoError(t, store.Prune(t.Context(), lease))
			records := d.Add(notes("x", 1)...)
			check.NoError(t, store.Append(t.Context(), lease, d.Head(), records, run.Reply{Question: "a", Action: run.ActionCancel}))
			live(t, store, run.Key{ID: "another"})
			check.NoError(t, store.Delete(t.Context(), key))
		}
	})
}
