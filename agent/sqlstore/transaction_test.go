package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// stuck is a driver whose connections hang at a rollback. It records what runs before a transaction, and counts transactions.
type stuck struct {
	driver.Conn
	settings string
	begun    int
}

func (s *stuck) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (*stuck) Driver() driver.Driver                          { return nil }
func (*stuck) Close() error                                   { return nil }

func (s *stuck) ExecContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Result, error) {
	if text == "lock" {
		return nil, errors.New("database is locked")
	}
	s.settings = text
	return driver.RowsAffected(0), nil
}

func (s *stuck) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	s.begun++
	return silent{ctx}, nil
}

type silent struct{ ctx context.Context }

func (s silent) Commit() error { return errors.New("not used") }

func (s silent) Rollback() error {
	<-s.ctx.Done()
	return s.ctx.Err()
}

// TestMixedGroup checks that a commit waits for the disk if one of its changes needs it.
func TestMixedGroup(t *testing.T) {
	fails := func(context.Context, *tx) error { return errors.New("out of luck") }
	records, leases := &waiter{change: fails}, &waiter{change: fails, leasesOnly: true}
	for _, c := range []struct {
		batch []*waiter
		want  string
	}{
		{[]*waiter{records, records}, "records"}, {[]*waiter{leases, records}, "records"},
		{[]*waiter{records, leases}, "records"}, {[]*waiter{leases, leases}, "leases"},
	} {
		synctest.Test(t, func(t *testing.T) {
			driver := new(stuck)
			db := sql.OpenDB(driver)
			defer func() { _ = db.Close() }()
			s := &database{db: db, d: &dialect{remote: true, writer: "records", leases: "leases"}}
			check.Is(t, s.commitTogether(t.Context(), c.batch), errChangeFailed)
			check.Equal(t, "settings", driver.settings, c.want)
		})
	}
}

// TestGroupWithoutTheLock checks that changes that share a transaction wait for the lock once.
func TestGroupWithoutTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := new(stuck)
		db := sql.OpenDB(driver)
		defer func() { _ = db.Close() }()
		s := &database{db: db, d: &dialect{remote: true, lockFile: "lock"}}
		batch := []*waiter{{change: nothing}, {change: nothing}}
		s.commit(t.Context(), batch)
		for _, w := range batch {
			check.That(t, w.err != nil, "a change is made without the lock")
		}
		check.Equal(t, "transactions", driver.begun, 1)
	})
}

// TestRollbackIsBounded checks that the wait for a rollback ends.
func TestRollbackIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(new(stuck))
		defer func() { _ = db.Close() }()
		s := &database{db: db, d: postgres}
		tx := check.Value(s.begin(t.Context(), false))(t)
		began := time.Now()
		tx.rollback()
		check.Equal(t, "it took", time.Since(began), rollbackTime)
		check.Equal(t, "connections are kept", db.Stats().OpenConnections, 0)
	})
}
