package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// maxLead is the tolerance of [run.Head.HeldAt], for statements that decide whether a lease is valid.
const maxLead = time.Second

func (s *database) Acquire(ctx context.Context, key run.Key, h record.Holder) (record.Lease, error) {
	lease := record.Lease{Key: key}
	err := s.writeLeases(ctx, func(ctx context.Context, t *tx) error {
		now, err := t.d.now(ctx, t)
		if err != nil {
			return err
		}
		err = t.acquire(ctx, &lease, h, now)
		for isNone(err) { // again only if another process has released the run meanwhile
			if err = t.heldError(ctx, key, now); err == nil {
				err = t.acquire(ctx, &lease, h, now)
			}
		}
		return err
	})
	return subject.Result(lease, err, "acquire run %q", key.ID)
}

// acquire takes a lease on the run of lease, and completes lease. The error matches [sql.ErrNoRows] if
// the run is held or there is none.
func (t *tx) acquire(ctx context.Context, lease *record.Lease, h record.Holder, now time.Time) error {
	// A lease may be lost in a power cut. The clock prevents that its epoch is used again.
	first := int64(ledger.FirstEpoch(now))
	var stored storedHead
	err := one(ctx, t, acquireRun, slices.Concat(
		[]any{first, first, timeColumn(now.Add(h.TTL)), int64(max(h.TTL, 0)), h.Name},
		columnsOf(lease.Key), []any{timeColumn(now), timeColumn(now.Add(maxLead))},
	), &stored.epoch, &lease.Seq, &stored.data)
	if err != nil {
		return err
	}
	head, err := stored.decode(lease.Key)
	lease.Epoch, lease.Created = uint64(stored.epoch), head.Created
	return err // not a refusal: the run is acquired, and the transaction must be rolled back
}

// heldError returns the reason why a run cannot be acquired. It is nil if the holder has released the
// run since the attempt at now.
func (t *tx) heldError(ctx context.Context, key run.Key, now time.Time) error {
	var holder string
	var held int64
	if err := t.one(ctx, record.ErrNotFound, selectHolder, columnsOf(key), &holder, &held); err != nil {
		return err
	}
	if held <= timeColumn(now) {
		return nil
	}
	return refuse(&record.HeldError{Holder: holder, Until: time.Unix(0, held)})
}

// Renew implements [record.Store] with statements for many leases. On a server it does not wait for a turn, because
// behind the work of a thousand runs it would be late.
func (s *database) Renew(ctx context.Context, leases []record.Lease, ttl time.Duration) []error {
	errs := make([]error, 0, len(leases))
	for chunk := range slices.Chunk(leases, maxRenewed) {
		kept, err := s.renew(ctx, chunk, ttl)
		for _, lease := range chunk {
			leaseErr := err
			if epoch, ok := kept[lease.Key]; err == nil && (!ok || epoch != lease.Epoch) {
				leaseErr = record.ErrConflict
			}
			errs = append(errs, subject.Wrap(leaseErr, "renew the lease of run %q", lease.Key.ID))
		}
	}
	return errs
}

// renew renews those of a few leases that are the latest of their runs, and returns the epochs of these. A renewal that
// ends with its context on a server is never made later, after a release: its transaction locks the rows before it can be
// committed.
func (s *database) renew(ctx context.Context, leases []record.Lease, ttl time.Duration) (kept map[run.Key]uint64, err error) {
	change := func(ctx context.Context, t *tx) (err error) {
		kept, err = t.renew(ctx, leases, ttl)
		return err
	}
	if s.d.remote {
		err = s.attempt(ctx, func() error { return s.transact(ctx, true, change) })
	} else {
		err = s.writeLeases(ctx, change)
	}
	return kept, err
}

// maxRenewed bounds the leases of one statement, because databases bound its parameters.
const maxRenewed = 300

// renew renews leases with one statement, and returns the epochs of those that are the latest of their runs.
func (t *tx) renew(ctx context.Context, leases []record.Lease, ttl time.Duration) (kept map[run.Key]uint64, err error) {
	now, err := t.d.now(ctx, t)
	if err != nil {
		return nil, err
	}
	args := []any{timeColumn(now.Add(ttl)), int64(max(ttl, 0))}
	for _, lease := range leases {
		args = append(args, heldBy(lease)...)
	}
	kept = map[run.Key]uint64{}
	query := renewRuns + strings.Repeat(", "+heldRow, len(leases)-1) + ") RETURNING tenant, id, epoch"
	return kept, each(ctx, t, query, args, func(rows *sql.Rows) error {
		var key run.Key
		var epoch uint64
		err := rows.Scan(&key.Tenant, &key.ID, &epoch)
		kept[key] = epoch
		return err
	})
}

// heldBy returns a lease as the columns tenant, id and epoch.
func heldBy(lease record.Lease) []any { return append(columnsOf(lease.Key), int64(lease.Epoch)) }

func (s *database) Release(ctx context.Context, lease record.Lease) error {
	err := s.writeLeases(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, releaseRun, heldBy(lease)...)
		return err
	})
	return subject.Wrap(err, "release run %q", lease.Key.ID)
}

// The statements of cancel requests. A version that does not know them leaves the row when it ends
// or deletes the run; the row is then void, and the next request removes it.
const (
	unfinished   = `r.status NOT IN ('done', 'failed', 'cancelled')`
	insertCancel = `INSERT INTO mcpchain_wishes (run, seq) SELECT num, seq FROM mcpchain_runs r
		WHERE tenant = ? AND id = ? AND ` + unfinished + ` ON CONFLICT (run) DO UPDATE SET seq = excluded.seq`
	deleteCancels = `DELETE FROM mcpchain_wishes WHERE NOT EXISTS
		(SELECT 1 FROM mcpchain_runs r WHERE r.num = mcpchain_wishes.run AND ` + unfinished + `)`
	selectCancels = `SELECT r.tenant, r.id, w.seq FROM mcpchain_wishes w JOIN mcpchain_runs r ON r.num = w.run WHERE ` + unfinished
)

func (s *database) RequestCancel(ctx context.Context, key run.Key) error {
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, insertCancel, columnsOf(key)...)
		if err == nil && n == 0 {
			err = t.one(ctx, record.ErrNotFound, selectNum, columnsOf(key), new(int64))
		}
		if err == nil {
			_, err = t.exec(ctx, deleteCancels)
		}
		return err
	})
	return subject.Wrap(err, "request to cancel run %q", key.ID)
}

func (s *database) CancelRequests(ctx context.Context) (map[run.Key]uint64, error) {
	requests := map[run.Key]uint64{}
	err := s.withReader(ctx, func(q querier) error {
		return each(ctx, q, selectCancels, nil, func(rows *sql.Rows) error {
			var key run.Key
			var seq uint64
			err := rows.Scan(&key.Tenant, &key.ID, &seq)
			requests[key] = seq
			return err
		})
	})
	return subject.Result(requests, err, "list cancel requests")
}
