package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Pages of a SQLite file that are free for later runs: above a share of all pages, each
// deletion of a run returns some. The file becomes shorter with the next checkpoint.
const (
	freeShare = 8    // 1/freeShare of all pages may be free
	fewPages  = 256  // too few to return
	maxReturn = 1024 // pages that one deletion returns; 4 MiB at the usual page size
)

// returnPages returns free pages of the file to the file system. A file of an early version keeps them.
func (t *tx) returnPages(ctx context.Context) error {
	if t.d.remote {
		return nil
	}
	var free, all int
	if err := one(ctx, t, "PRAGMA freelist_count", nil, &free); err != nil {
		return err
	}
	if err := one(ctx, t, "PRAGMA page_count", nil, &all); err != nil {
		return err
	}
	if free <= max(fewPages, all/freeShare) {
		return nil
	}
	// It returns a row for each page, and drivers step an Exec once.
	return each(ctx, t, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", maxReturn), nil, func(*sql.Rows) error { return nil })
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
		if next := ledger.FirstEpoch(now); next > epoch || epoch-next > maxTicks*1000 {
			return nil
		}
		if err := backoff.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

const (
	selectSnapshot = `SELECT num, snapshot FROM mcpchain_runs WHERE tenant = ? AND id = ? AND epoch = ?`
	pruneRecords   = `DELETE FROM mcpchain_records WHERE run = ? AND seq < ?`
)

func (s *database) Prune(ctx context.Context, lease record.Lease) error {
	tenant, id := columnsOf(lease.Key)
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		var num, snapshot int64
		args := []any{tenant, id, int64(lease.Epoch)}
		if err := t.one(ctx, record.ErrConflict, selectSnapshot+t.d.lockRows, args, &num, &snapshot); err != nil {
			return err
		}
		n, err := t.exec(ctx, pruneRecords, num, snapshot)
		if err != nil || n == 0 {
			return err
		}
		return t.returnPages(ctx)
	})
	return subject.Wrap(err, "prune run %q", lease.Key.ID)
}
