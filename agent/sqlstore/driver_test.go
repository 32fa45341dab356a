package sqlstore_test

import (
	"context"
	"database/sql/driver"
	"errors"

	"modernc.org/sqlite"
)

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
