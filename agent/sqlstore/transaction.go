package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
)

const rollbackTime = 5 * time.Second // to roll back a transaction that failed

// change is a part of a transaction. If the error is a [refusal], it has changed nothing and
// the transaction continues.
type change func(context.Context, *tx) error

// refusal is the error of a change that contradicts what is stored.
type refusal struct{ err error }

// refuse marks an error as a refusal. It keeps nil.
func refuse(err error) error {
	if err == nil {
		return nil
	}
	return &refusal{err}
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// tx is a transaction on a connection of its own.
type tx struct {
	d        *dialect
	conn     *sql.Conn
	tx       *sql.Tx
	prepared map[string]*sql.Stmt // by their texts, unless the driver prepares statements
	end      context.CancelFunc   // ends the wait for a rollback
	undo     bool                 // the next user of the connection needs the dialect's writer again
}

// begin begins a transaction that writes, or one that changes only leases. In SQLite it waits until no
// other transaction writes.
func (s *database) begin(ctx context.Context, leasesOnly bool) (_ *tx, err error) {
	defer func() { err = subject.Wrap(err, "begin a transaction") }()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t := &tx{d: s.d, conn: conn, prepared: map[string]*sql.Stmt{}, end: func() {}, undo: leasesOnly && s.d.leases != ""}
	settings := s.d.writer
	if t.undo {
		settings += "; " + s.d.leases
	}
	if settings != "" {
		_, err = conn.ExecContext(ctx, settings)
	}
	if err == nil {
		begun := ctx
		if s.d.remote {
			begun, t.end = context.WithCancel(ctx)
		}
		t.tx, err = conn.BeginTx(begun, &sql.TxOptions{Isolation: s.d.isolation})
	}
	if err != nil {
		t.close(err)
		return nil, err
	}
	if s.d.lockFile != "" { // now, because a transaction that has read cannot wait for the lock
		if _, err := t.exec(ctx, s.d.lockFile); err != nil {
			t.rollback()
			return nil, err
		}
	}
	return t, nil
}

// commit ends the transaction. After an error it is unknown whether it was committed.
func (t *tx) commit() error {
	err := t.tx.Commit()
	t.close(err)
	return subject.Wrap(err, "commit")
}

// rollback ends the transaction without its changes. It waits for a server for rollbackTime at most:
// a connection whose transaction could not be rolled back is not used again.
func (t *tx) rollback() {
	late := time.AfterFunc(rollbackTime, t.end)
	err := t.tx.Rollback()
	late.Stop()
	t.close(err)
}

// close returns the connection to the pool. After a failed transaction it is not used again.
func (t *tx) close(err error) {
	defer t.end()
	if err == nil && t.undo {
		_, err = t.conn.ExecContext(context.Background(), t.d.writer)
	}
	if err != nil {
		_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = t.conn.Close()
}

func (t *tx) exec(ctx context.Context, text string, args ...any) (int64, error) {
	result, err := perform(ctx, t, text, args, t.tx.ExecContext, (*sql.Stmt).ExecContext)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// change is exec for a statement that is refused if it changes no row.
func (t *tx) change(ctx context.Context, reason error, text string, args ...any) error {
	n, err := t.exec(ctx, text, args...)
	if err == nil && n == 0 {
		return refuse(reason)
	}
	return err
}

// one is [one] for a row whose absence is refused.
func (t *tx) one(ctx context.Context, reason error, query string, args []any, columns ...any) error {
	err := one(ctx, t, query, args, columns...)
	if isNone(err) {
		return refuse(reason)
	}
	return err
}

func (t *tx) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return perform(ctx, t, text, args, t.tx.QueryContext, (*sql.Stmt).QueryContext)
}

// perform executes a statement: as text at a server, compiled in a file.
func perform[R any](
	ctx context.Context, t *tx, text string, args []any,
	asText func(context.Context, string, ...any) (R, error), compiled func(*sql.Stmt, context.Context, ...any) (R, error),
) (result R, err error) {
	if t.d.remote {
		return asText(ctx, t.d.statement(text), args...)
	}
	stmt, err := t.prepare(ctx, text)
	if err != nil {
		return result, err
	}
	return compiled(stmt, ctx, args...)
}

// prepare compiles a statement once for all changes of the transaction. It is closed with the transaction.
func (t *tx) prepare(ctx context.Context, text string) (stmt *sql.Stmt, err error) {
	if stmt = t.prepared[text]; stmt == nil {
		if stmt, err = t.tx.PrepareContext(ctx, text); err == nil {
			t.prepared[text] = stmt
		}
	}
	return stmt, err
}

// once makes a change in a transaction of its own, in its turn.
func (s *database) once(ctx context.Context, leasesOnly bool, c change) error {
	return s.inTurn(ctx, func() error { return s.transact(ctx, leasesOnly, c) })
}

// transact is once without waiting for a turn.
func (s *database) transact(ctx context.Context, leasesOnly bool, c change) error {
	t, err := s.begin(ctx, leasesOnly)
	if err != nil {
		return err
	}
	if err := c(ctx, t); err != nil {
		t.rollback()
		return err
	}
	return t.commit()
}
