package sqlstore

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run/record"
)

const (
	selectSnapshot = `SELECT num, snapshot FROM mcpchain_runs WHERE tenant = ? AND id = ? AND epoch = ?`
	pruneRecords   = `DELETE FROM mcpchain_records WHERE run = ? AND seq < ?`
)

// Prune implements [record.Pruner].
func (s *database) Prune(ctx context.Context, lease record.Lease) error {
	tenant, id := names(lease.Key)
	err := s.writing(ctx, func(ctx context.Context, t *tx) error {
		if err := t.takeLock(ctx); err != nil {
			return err
		}
		var num, snapshot int64
		err := one(ctx, t, selectSnapshot+t.d.lock, []any{tenant, id, int64(lease.Epoch)}, &num, &snapshot)
		if isNone(err) {
			return refuse(record.ErrConflict)
		}
		if err != nil {
			return err
		}
		n, err := t.exec(ctx, pruneRecords, num, snapshot)
		if err != nil || n == 0 {
			return err
		}
		return t.giveBack(ctx)
	})
	if err != nil {
		return fmt.Errorf("prune run %q: %w", lease.Key.ID, err)
	}
	return nil
}
