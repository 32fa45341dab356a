package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/backoff"
)

// Store is a [record.Store] in a database.
type Store interface {
	record.Store

	// Count returns how many runs a query selects. Limit bounds the number and the cost; After is
	// ignored.
	Count(ctx context.Context, q record.Query) (int, error)
}

// database is the [Store] in a database.
type database struct {
	db    *sql.DB
	d     *dialect
	group group

	mu    sync.Mutex
	turns chan struct{} // of currentTurns, nil before its first use

	pageSize int // how many runs List reads at once
}

// OpenSQLite returns the store in a database of SQLite, and creates its tables or brings them up to
// date. The database stays the caller's, who closes it after the last use of the store. The error says
// what is lost if settings of the database allow it to lose commits.
func OpenSQLite(ctx context.Context, db *sql.DB) (Store, error) { return open(ctx, db, sqlite) }

// OpenPostgres is [OpenSQLite] for a database of Postgres.
func OpenPostgres(ctx context.Context, db *sql.DB) (Store, error) { return open(ctx, db, postgres) }

func open(ctx context.Context, db *sql.DB, d *dialect) (Store, error) {
	s := &database{db: db, d: d, pageSize: maxPage}
	s.group.commit = s.commit
	if err := s.withReader(ctx, func(q querier) error { return d.configure(ctx, q) }); err != nil {
		return nil, fmt.Errorf("open SQL store in %s: %w", d.name, err)
	}
	if err := s.migrate(ctx); err != nil {
		return nil, fmt.Errorf("open SQL store in %s: make its tables: %w", d.name, err)
	}
	return s, nil
}

// withReader calls read with a connection: in SQLite one that waits for locks of other processes,
// at a server one of the pool, in its turn.
func (s *database) withReader(ctx context.Context, read func(querier) error) error {
	if s.d.reader == "" {
		return s.inTurn(ctx, func() error { return read(s.db) })
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, s.d.reader); err != nil {
		return err
	}
	return read(conn)
}

// inTurn calls do once it is the caller's turn to use a connection.
func (s *database) inTurn(ctx context.Context, do func() error) error {
	turns := s.currentTurns()
	if turns == nil {
		return do()
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// currentTurns returns a channel that is filled by those who use a connection of a bounded pool, except for renewals: one
// connection is left to them. Callers get theirs in the order of their requests. A pool serves those who wait in any
// order, and among a thousand some would wait for longer than a lease. The channel is nil if the pool has no bound, or a
// single connection. It is another one once the program has changed the bound.
func (s *database) currentTurns() chan struct{} {
	bound := s.db.Stats().MaxOpenConnections
	if !s.d.remote || bound < 2 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cap(s.turns) != bound-1 {
		s.turns = make(chan struct{}, bound-1)
	}
	return s.turns
}

// write makes and commits a change, in a file together with the changes of other callers. A refused
// change has changed nothing.
func (s *database) write(ctx context.Context, c change) error { return s.writeAs(ctx, false, c) }

// writeLeases is write for a change of leases only.
func (s *database) writeLeases(ctx context.Context, c change) error { return s.writeAs(ctx, true, c) }

func (s *database) writeAs(ctx context.Context, leasesOnly bool, c change) error {
	return s.attempt(ctx, func() error {
		if s.d.remote {
			return s.once(ctx, leasesOnly, c)
		}
		return s.group.do(ctx, leasesOnly, c)
	})
}

// maxTries is how often to try a transaction that conflicts with others.
const maxTries = 8

// attempt calls write unless the context has ended, and again if its transaction conflicts with another one. It
// returns a refusal as the error that was refused, and an error of a driver with the context's error if the context has
// ended meanwhile.
func (s *database) attempt(ctx context.Context, write func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	policy := backoff.Policy{First: 5 * time.Millisecond, Max: 200 * time.Millisecond}
	err := backoff.Loop(ctx, policy, write, func(f *backoff.Failure) error {
		if !s.d.isRetryable(f.Err) || f.Count+1 == maxTries {
			return f.Err
		}
		return nil
	})
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.err
	}
	if ended := ctx.Err(); err != nil && ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// querier is a *sql.DB, a *sql.Conn or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// one reads the first row. The error matches [sql.ErrNoRows] if there is none.
func one(ctx context.Context, q querier, query string, args []any, columns ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		return cmp.Or(rows.Err(), sql.ErrNoRows)
	}
	if err := rows.Scan(columns...); err != nil {
		return err
	}
	return rows.Close()
}

func isNone(err error) bool { return errors.Is(err, sql.ErrNoRows) }

func each(ctx context.Context, q querier, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
