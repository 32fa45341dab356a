package sqlstore

import (
	"context"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

const (
	selectSnapshot = `SELECT num, snapshot FROM mcpchain_runs WHERE tenant = ? AND id = ? AND epoch = ?`
	pruneRecords   = `DELETE FROM mcpchain_records WHERE run = ? AND seq < ?`
)

// Prune implements [record.Store].
func (s *database) Prune(ctx context.Context, lease record.Lease) error {
	tenant, id := columnsOf(lease.Key)
	err := s.changeRun(ctx, func(ctx context.Context, t *tx) error {
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
