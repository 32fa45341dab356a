package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// Renew implements [record.Store] with statements for many leases. On a server it uses a
// connection of its own, which returns to the pool when no lease was renewed for twice its duration.
func (s *database) Renew(ctx context.Context, leases []record.Lease, ttl time.Duration) []error {
	errs := make([]error, 0, len(leases))
	for chunk := range slices.Chunk(leases, maxRenewed) {
		var kept map[run.Key]bool
		renew := func(ctx context.Context, t *tx) (err error) {
			kept, err = t.renew(ctx, chunk, ttl)
			return err
		}
		var err error
		if s.d.remote && s.db.Stats().MaxOpenConnections != 1 {
			err = s.renewals.do(ctx, s, ttl, renew)
		} else {
			err = s.writeLeases(ctx, renew)
		}
		for _, lease := range chunk {
			leaseErr := err
			if err == nil && !kept[lease.Key] {
				leaseErr = record.ErrConflict
			}
			errs = append(errs, subject.Wrap(leaseErr, "renew the lease of run %q", lease.Key.ID))
		}
	}
	return errs
}

// renewals have a connection of their own, because behind the work of a thousand runs they
// would be late.
type renewals struct {
	turn chan struct{} // has a buffer of one: who uses the following fields fills it
	conn *sql.Conn     // nil if there is none
	end  *time.Timer   // releases the connection
}

// do makes a change of leases on the connection, and keeps it for another one. After an error the
// connection is closed, and the next change gets another.
func (r *renewals) do(ctx context.Context, s *database, ttl time.Duration, c change) (err error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.end != nil {
		r.end.Stop()
	}
	if r.conn == nil {
		if r.conn, err = s.db.Conn(ctx); err != nil {
			r.conn = nil
			return err
		}
	}
	if err := r.transact(ctx, s.d, c); err != nil {
		_ = r.conn.Raw(func(any) error { return driver.ErrBadConn }) // its state is unknown
		r.release()
		return err
	}
	r.end = time.AfterFunc(2*max(ttl, time.Second), func() {
		r.turn <- struct{}{}
		defer func() { <-r.turn }()
		r.release()
	})
	return nil
}

func (r *renewals) release() {
	if r.conn != nil {
		_ = r.conn.Close()
		r.conn = nil
	}
}

func (r *renewals) transact(ctx context.Context, d *dialect, c change) error {
	begun, err := r.conn.BeginTx(ctx, &sql.TxOptions{Isolation: d.isolation})
	if err != nil {
		return err
	}
	if err := c(ctx, &tx{d: d, conn: r.conn, tx: begun, end: func() {}}); err != nil {
		_ = begun.Rollback()
		return err
	}
	return begun.Commit()
}

// maxRenewed bounds the leases of one statement, because databases bound its parameters.
const maxRenewed = 300

// renew renews leases with one statement, and returns the runs whose latest leases they are.
func (t *tx) renew(ctx context.Context, leases []record.Lease, ttl time.Duration) (kept map[run.Key]bool, err error) {
	now, err := t.d.now(ctx, t)
	if err != nil {
		return nil, err
	}
	args := []any{until(now.Add(ttl)), int64(max(ttl, 0))}
	for _, lease := range leases {
		tenant, id := columnsOf(lease.Key)
		args = append(args, tenant, id, int64(lease.Epoch))
	}
	kept = map[run.Key]bool{}
	query := renewRuns + strings.Repeat(", "+heldRow, len(leases)-1) + ") RETURNING tenant, id"
	return kept, each(ctx, t, query, args, func(rows *sql.Rows) error {
		var key run.Key
		err := rows.Scan(&key.Tenant, &key.ID)
		kept[key] = true
		return err
	})
}
