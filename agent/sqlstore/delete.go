package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
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
		err := one(ctx, t, deleteRun, columnsOf(key), &num, &epoch)
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
		return ledger.AwaitEpoch(uint64(epoch), func() (time.Time, error) { return t.d.now(ctx, t) })
	})
	return subject.Wrap(err, "delete run %q", key.ID)
}

const (
	selectSnapshot = `SELECT num, snapshot FROM mcpchain_runs WHERE tenant = ? AND id = ? AND epoch = ?`
	pruneRecords   = `DELETE FROM mcpchain_records WHERE run = ? AND seq < ?`
)

func (s *database) Prune(ctx context.Context, lease record.Lease) error {
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		var num, snapshot int64
		if err := t.one(ctx, record.ErrConflict, selectSnapshot+t.d.lockRows, heldBy(lease), &num, &snapshot); err != nil {
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
