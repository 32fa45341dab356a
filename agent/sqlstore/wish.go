package sqlstore

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// The statements of wishes. A program that does not know wishes leaves the row when it ends or
// deletes the run; the row is then void, and the next wish removes it.
const (
	unfinished = `r.status NOT IN ('done', 'failed', 'cancelled')`
	insertWish = `INSERT INTO mcpchain_wishes (run, seq) SELECT num, seq FROM mcpchain_runs r
		WHERE tenant = ? AND id = ? AND ` + unfinished + ` ON CONFLICT (run) DO UPDATE SET seq = excluded.seq`
	deleteWishes = `DELETE FROM mcpchain_wishes WHERE NOT EXISTS (SELECT 1 FROM mcpchain_runs r WHERE r.num = mcpchain_wishes.run AND ` + unfinished + `)`
	selectWishes = `SELECT r.tenant, r.id, w.seq FROM mcpchain_wishes w JOIN mcpchain_runs r ON r.num = w.run WHERE ` + unfinished
)

// Wish implements [record.Store].
func (s *database) Wish(ctx context.Context, key run.Key) error {
	tenant, id := names(key)
	err := s.writing(ctx, func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, insertWish, tenant, id)
		if err == nil && n == 0 {
			var num int64
			if err = one(ctx, t, selectNum, []any{tenant, id}, &num); isNone(err) {
				return refuse(record.ErrNotFound)
			}
		}
		if err == nil {
			_, err = t.exec(ctx, deleteWishes)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wish the end of run %q: %w", key.ID, err)
	}
	return nil
}

// Wishes implements [record.Store].
func (s *database) Wishes(ctx context.Context) (wishes []record.Wish, err error) {
	err = s.reading(ctx, func(q querier) error {
		rows, err := q.QueryContext(ctx, selectWishes)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var w record.Wish
			if err := rows.Scan(&w.Key.Tenant, &w.Key.ID, &w.Seq); err != nil {
				return err
			}
			wishes = append(wishes, w)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("list wishes: %w", err)
	}
	return wishes, nil
}
