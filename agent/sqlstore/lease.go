package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/backoff"
)

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
	first := int64(record.FirstEpoch(now))
	tenant, id := columnsOf(lease.Key)
	var epoch, seq int64
	var data []byte
	err := one(ctx, t, acquireRun, []any{
		first, first, until(now.Add(h.TTL)), int64(max(h.TTL, 0)), h.Name,
		tenant, id, until(now), until(now.Add(run.MaxLead)),
	}, &epoch, &seq, &data)
	if err != nil {
		return err
	}
	head, err := decodeHead(lease.Key, data, epoch, 0, 0, 0)
	lease.Epoch, lease.Seq, lease.Created = uint64(epoch), uint64(seq), head.Created
	return err // not a refusal: the run is acquired, and the transaction must be rolled back
}

// heldError returns the reason why a run cannot be acquired. It is nil if the holder has released the
// run since the attempt at now.
func (t *tx) heldError(ctx context.Context, key run.Key, now time.Time) error {
	var holder string
	var held int64
	tenant, id := columnsOf(key)
	if err := t.one(ctx, record.ErrNotFound, selectHolder, []any{tenant, id}, &holder, &held); err != nil {
		return err
	}
	if held <= until(now) {
		return nil
	}
	return refuse(&record.HeldError{Holder: holder, Until: time.Unix(0, held)})
}

func (s *database) Release(ctx context.Context, lease record.Lease) error {
	err := s.writeLeases(ctx, func(ctx context.Context, t *tx) error {
		tenant, id := columnsOf(lease.Key)
		_, err := t.exec(ctx, releaseRun, tenant, id, int64(lease.Epoch))
		return err
	})
	return subject.Wrap(err, "release run %q", lease.Key.ID)
}

func (s *database) Delete(ctx context.Context, key run.Key) error {
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		var num, epoch int64
		tenant, id := columnsOf(key)
		err := one(ctx, t, deleteRun, []any{tenant, id}, &num, &epoch)
		if isNone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, text := range []string{deleteRecords, deleteReplies, deleteBlobs} {
			if _, err := t.exec(ctx, text, num); err != nil {
				return err
			}
		}
		if err := t.returnPages(ctx); err != nil {
			return err
		}
		return t.awaitClock(ctx, uint64(epoch))
	})
	return subject.Wrap(err, "delete run %q", key.ID)
}

// maxTicks bounds the wait, in milliseconds, for the clock to pass the last epoch of a deleted run.
// Clocks of some systems stand still for 16 ms.
const maxTicks = 20

// awaitClock returns once a new run would get a higher epoch, or after maxTicks. It does not wait for
// a clock that was set back further.
func (t *tx) awaitClock(ctx context.Context, epoch uint64) error {
	for range maxTicks {
		now, err := t.d.now(ctx, t)
		if err != nil {
			return err
		}
		if next := record.FirstEpoch(now); next > epoch || epoch-next > maxTicks*1000 {
			return nil
		}
		if err := backoff.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// The statements of cancel requests. A version that does not know them leaves the row when it ends
// or deletes the run; the row is then void, and the next request removes it.
const (
	unfinished   = `r.status NOT IN ('done', 'failed', 'cancelled')`
	insertCancel = `INSERT INTO mcpchain_wishes (run, seq) SELECT num, seq FROM mcpchain_runs r
		WHERE tenant = ? AND id = ? AND ` + unfinished + ` ON CONFLICT (run) DO UPDATE SET seq = excluded.seq`
	deleteCancels = `DELETE FROM mcpchain_wishes WHERE NOT EXISTS (SELECT 1 FROM mcpchain_runs r WHERE r.num = mcpchain_wishes.run AND ` + unfinished + `)`
	selectCancels = `SELECT r.tenant, r.id, w.seq FROM mcpchain_wishes w JOIN mcpchain_runs r ON r.num = w.run WHERE ` + unfinished
)

func (s *database) RequestCancel(ctx context.Context, key run.Key) error {
	tenant, id := columnsOf(key)
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, insertCancel, tenant, id)
		if err == nil && n == 0 {
			err = t.one(ctx, record.ErrNotFound, selectNum, []any{tenant, id}, new(int64))
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
