//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
)

// opened is a pool of connections to a database.
func opened(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// TestManyFirstStarts has processes start at the same time, with a database that has no tables.
func TestManyFirstStarts(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		manyFirstStarts(t, func(round int) func(*options) { // one process alone can make the file
			file := filepath.Join(t.TempDir(), fmt.Sprint(round))
			s, o := &service{}, settings(t)
			defer s.close()
			o.sqlite = file
			if _, err := s.openStore(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			return func(o *options) { o.sqlite = file }
		})
	})
	t.Run("Postgres", func(t *testing.T) {
		dsn := database(t)
		admin := opened(t, dsn)
		manyFirstStarts(t, func(round int) func(*options) {
			schema := fmt.Sprintf("s%d", round)
			execute(t, admin, "CREATE SCHEMA "+schema)
			return func(o *options) { o.sqlite, o.postgres = "", dsn+" search_path="+schema }
		})
	})
}

func manyFirstStarts(t *testing.T, next func(round int) func(*options)) {
	for round := range 10 {
		share := next(round)
		var all sync.WaitGroup
		begin := make(chan struct{})
		for range 8 {
			o := settings(t)
			o.temporal = ""
			share(o)
			all.Go(func() {
				<-begin
				s := &service{logger: slog.New(slog.DiscardHandler)}
				defer s.close()
				var err error
				if s.store, err = s.openStore(t.Context(), o); err == nil {
					err = s.alone(t.Context(), o)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		close(begin)
		all.Wait()
	}
}

// TestStartsWithoutRights has a user who may not make tables, after they were made.
func TestStartsWithoutRights(t *testing.T) {
	dsn := database(t)
	admin := opened(t, dsn)
	if _, err := newWishes(t.Context(), admin, sqlstore.DialectPostgres); err != nil {
		t.Fatal(err)
	}
	execute(t, admin, `CREATE USER reader; GRANT ALL ON service_stops TO reader; REVOKE CREATE ON SCHEMA public FROM PUBLIC`)
	conn := opened(t, dsn+" user=reader")
	if _, err := newWishes(t.Context(), conn, sqlstore.DialectPostgres); err != nil {
		t.Errorf("got %v, want that the table is there", err)
	}
}

// TestWishesByTheClockOfTheDatabase has a database with another clock than this process.
func TestWishesByTheClockOfTheDatabase(t *testing.T) {
	dsn := database(t)
	for schema, other := range map[string]string{"slow": "-10 minutes", "fast": "10 minutes"} {
		t.Run(schema, func(t *testing.T) {
			admin := opened(t, dsn)
			execute(t, admin, "CREATE SCHEMA "+schema)
			execute(t, admin, "CREATE FUNCTION "+schema+`.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
				$$ SELECT pg_catalog.clock_timestamp() + interval '`+other+`' $$`)
			db := opened(t, dsn+" search_path="+schema+",pg_catalog")
			w, err := newWishes(t.Context(), db, sqlstore.DialectPostgres)
			if err != nil {
				t.Fatal(err)
			}
			key := run.Key{Tenant: "ada", ID: "r"}
			if err := w.add(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			if keys, err := w.all(t.Context()); err != nil || !slices.Equal(keys, []run.Key{key}) {
				t.Errorf("got %v, %v, want the wish", keys, err)
			}
			var left int
			if err := db.QueryRowContext(t.Context(), `SELECT until - `+w.clock+` FROM service_stops`).Scan(&left); err != nil || left < 0 || left > int(stopWait.Seconds()) {
				t.Errorf("got %d s, %v, want that the wish ends within %v", left, err, stopWait)
			}
			execute(t, db, `UPDATE service_stops SET until = `+w.clock+` - 1`)
			if keys, err := w.all(t.Context()); err != nil || len(keys) != 0 {
				t.Errorf("got %v, %v, want that the wish has ended", keys, err)
			}
		})
	}
}

// TestRefusedStop has another process that keeps a run: it hears the wish that the run stops until this is refused.
func TestRefusedStop(t *testing.T) {
	o := settings(t)
	o.sqlite, o.postgres, o.temporal = "", database(t), ""
	var s *service
	p := person{t, start(t, o, func(made *service) { s = made }), "demo-ada"}
	id := p.run("Book a table for 4 at Luigi")
	p.settled(id)
	var lease run.Lease
	eventually(t, "the run is free", func() (free bool) {
		var err error
		lease, err = s.store.Acquire(t.Context(), p.key(id), run.Holder{Name: "other", TTL: time.Hour})
		if err != nil && !errors.Is(err, run.ErrHeld) {
			t.Fatal(err)
		}
		return err == nil
	})
	l := s.engine.(*local)
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error)
	go func() { refused <- l.end(ctx, p.key(id)) }()
	eventually(t, "the other process hears of the wish", func() bool {
		keys, err := l.wishes.all(t.Context())
		return err == nil && slices.Equal(keys, []run.Key{p.key(id)})
	})
	cancel()
	if err := <-refused; err == nil {
		t.Error("a run of another process was stopped")
	}
	if keys, err := l.wishes.all(t.Context()); err != nil || len(keys) != 0 {
		t.Errorf("got %v, %v, want no wish after the stop was refused", keys, err)
	}
	if err := s.store.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if err := l.end(t.Context(), p.key(id)); err != nil || p.state(id).Status != run.StatusCancelled {
		t.Errorf("got %v, %s, want a stop", err, p.state(id).Status)
	}
}
