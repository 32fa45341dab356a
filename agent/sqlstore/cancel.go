package sqlstore

import (
	"context"
	"database/sql"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// The statements of cancel requests. A version that does not know them leaves the row when it ends
// or deletes the run; the row is then void, and the next request removes it.
const (
	unfinished   = `r.status NOT IN ('done', 'failed', 'cancelled')`
	insertCancel = `INSERT INTO mcpchain_wishes (run, seq) SELECT num, seq FROM mcpchain_runs r
		WHERE tenant = ? AND id = ? AND ` + unfinished + ` ON CONFLICT (run) DO UPDATE SET seq = excluded.seq`
	deleteCancels = `DELETE FROM mcpchain_wishes WHERE NOT EXISTS (SELECT 1 FROM mcpchain_runs r WHERE r.num = mcpchain_wishes.run AND ` + unfinished + `)`
	selectCancels = `SELECT r.tenant, r.id, w.seq FROM mcpchain_wishes w JOIN mcpchain_runs r ON r.num = w.run WHERE ` + unfinished
)

// RequestCancel implements [record.Store].
func (s *database) RequestCancel(ctx context.Context, key run.Key) error {
	tenant, id := columnsOf(key)
	err := s.changeRun(ctx, func(ctx context.Context, t *tx) error {
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

// CancelRequests implements [record.Store].
func (s *database) CancelRequests(ctx context.Context) (requests []record.CancelRequest, err error) {
	err = s.withReader(ctx, func(q querier) error {
		return each(ctx, q, selectCancels, nil, func(rows *sql.Rows) error {
			var c record.CancelRequest
			err := rows.Scan(&c.Key.Tenant, &c.Key.ID, &c.Seq)
			requests = append(requests, c)
			return err
		})
	})
	return subject.Result(requests, err, "list cancel requests")
}
