package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// stuck is a driver whose connections hang at a query and a rollback. It records what runs before a transaction, and counts transactions.
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

func (*stuck) QueryContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Rows, error) {
	return nil, silent{ctx}.Rollback()
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
		{[]*waiter{records, leases}, "records"}, {[]*waiter{leases, leases}, "records; leases"},
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

// TestWaitsAreBounded checks that the waits for a rollback and for a list end.
func TestWaitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(new(stuck))
		defer func() { _ = db.Close() }()
		s := &database{db: db, d: postgres}
		tx := check.Value(s.begin(t.Context(), false))(t)
		began := time.Now()
		tx.rollback()
		check.Equal(t, "it took", time.Since(began), rollbackTime)
		check.Equal(t, "connections are kept", db.Stats().OpenConnections, 0)
		check.Is(t, check.Err(s.page(t.Context(), record.Query{}, nil, 1)), context.DeadlineExceeded)
		check.Equal(t, "both took", time.Since(began), rollbackTime+pageTime)
	})
}

// commits returns a group whose commits wait to be released, and the size of each.
func commits() (g *group, sizes *[]int, next chan error) {
	g, sizes, next = &group{}, new([]int), make(chan error)
	g.commit = func(ctx context.Context, batch []*waiter) {
		*sizes = append(*sizes, len(batch))
		err := <-next
		for _, w := range batch {
			if w.err = w.change(ctx, nil); err != nil {
				w.err = err
			}
		}
	}
	return g, sizes, next
}

func nothing(context.Context, *tx) error { return nil }

// TestGroup checks that changes that arrive during a commit share the next one.
func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, sizes, next := commits()
		const n = 1 + maxGroup + 7
		errs := make(chan error, n)
		for i := range n {
			go func() { errs <- g.do(t.Context(), false, nothing) }()
			if i == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		errLost := errors.New("lost")
		for _, err := range []error{nil, errLost, nil} {
			next <- err
			synctest.Wait()
		}
		failed := 0
		for range n {
			if err := <-errs; err == errLost {
				failed++
			} else if err != nil {
				t.Error(err)
			}
		}
		check.Same(t, "commits", *sizes, []int{1, maxGroup, 7})
		check.That(t, failed == maxGroup && !g.isActive && len(g.queue) == 0,
			"got %d failures, and %d changes left, want %d and none", failed, len(g.queue), maxGroup)
	})
}

// TestGroupOfEndedContexts takes a change out of the queue while it waits, but not once it is being committed.
func TestGroupOfEndedContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, sizes, next := commits()
		ctx, cancel := context.WithCancel(t.Context())
		made := 0
		count := func(ctx context.Context, _ *tx) error { made++; return ctx.Err() }
		errs := make(chan error, 3)
		for _, ctx := range []context.Context{ctx, ctx, t.Context()} {
			go func() { errs <- g.do(ctx, false, count) }()
			synctest.Wait()
		}
		cancel()
		check.Is(t, <-errs, context.Canceled, "the change in the queue")
		for range 2 {
			next <- nil
			check.NoError(t, <-errs)
		}
		check.That(t, len(*sizes) == 2 && made == 2, "got %d changes in commits of %d, want 2 in 2", made, *sizes)
	})
}

// A commit that panics fails its changes, and the next one is made.
func TestGroupAfterPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, release, calls := &group{}, make(chan struct{}), 0
		g.commit = func(_ context.Context, batch []*waiter) {
			if calls++; calls == 2 {
				panic("of the driver")
			}
			<-release
			for _, w := range batch {
				w.err = nil
			}
		}
		errs := make(chan error, 3)
		for i := range 3 { // the first commits alone, and the others share the commit that panics
			go func() {
				defer func() {
					if recover() != nil {
						errs <- errPanicked
					}
				}()
				errs <- g.do(t.Context(), false, nothing)
			}()
			if i == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		failed := 0
		for range 3 {
			if errors.Is(<-errs, errPanicked) {
				failed++
			}
		}
		err := g.do(t.Context(), false, nothing)
		check.That(t, failed >= 2 && err == nil && !g.isActive, "got %d failures, then %v, active %v", failed, err, g.isActive)
	})
}
