package sqlstore

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
)

// maxPage bounds the heads that one query of List reads.
const maxPage = 1000

// List implements [run.Store]. It reads page by page and holds no connection while the
// loop's body runs. A run that changes during the loop may be left out.
func (s *Store) List(ctx context.Context, q run.Query) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) {
		var last *run.Head
		for left := q.Limit; ; left -= s.pageSize {
			size := s.pageSize
			if q.Limit > 0 {
				size = min(size, left)
			}
			heads, err := s.page(ctx, q, last, size)
			if err != nil {
				yield(run.Head{}, fmt.Errorf("list runs: %w", err))
				return
			}
			for _, h := range heads {
				if !yield(h, nil) {
					return
				}
			}
			if len(heads) < s.pageSize {
				return
			}
			last = &heads[len(heads)-1]
		}
	}
}

// page reads the heads that follow last, size at most.
func (s *Store) page(ctx context.Context, q run.Query, last *run.Head, size int) (heads []run.Head, err error) {
	where, args := conditions(q, last)
	query := `SELECT tenant, id, epoch, held, answers, head FROM mcpchain_runs` + where + ` ORDER BY ` + order(q) + ` LIMIT ?`
	err = s.reading(ctx, func(c querier) error {
		rows, err := c.QueryContext(ctx, s.d.statement(query), append(args, size)...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var key run.Key
			var epoch, held int64
			var answers int
			var data []byte
			if err := rows.Scan(&key.Tenant, &key.ID, &epoch, &held, &answers, &data); err != nil {
				return err
			}
			head, err := decodeHead(key, data, epoch, held, answers)
			if err != nil {
				return err
			}
			heads = append(heads, head)
		}
		return rows.Err()
	})
	return heads, err
}

// Count returns how many runs a query selects. Limit bounds it, and what it costs.
func (s *Store) Count(ctx context.Context, q run.Query) (n int, err error) {
	where, args := conditions(q, nil)
	query := `SELECT 1 FROM mcpchain_runs` + where
	if q.Limit > 0 {
		query += ` LIMIT ?`
		args = append(args, q.Limit)
	}
	err = s.reading(ctx, func(c querier) error {
		return one(ctx, c, s.d.statement(`SELECT count(*) FROM (`+query+`) AS selected`), args, &n)
	})
	if err != nil {
		return 0, fmt.Errorf("count runs: %w", err)
	}
	return n, nil
}

// since is when a run that is due became due: the column due has the least number if no
// time makes it due.
const since = `(CASE WHEN due = -9223372036854775808 THEN updated ELSE due END)`

// order writes the order of a query as SQL, see [run.Query.Compare].
func order(q run.Query) string {
	if q.DueAt.IsZero() {
		return `updated DESC, tenant, id`
	}
	return since + `, tenant, id`
}

// conditions writes a query as SQL, with the values of its parameters.
func conditions(q run.Query, last *run.Head) (where string, args []any) {
	var terms []string
	add := func(term string, values ...any) {
		terms = append(terms, term)
		args = append(args, values...)
	}
	switch any := (run.Key{Tenant: q.Tenant, ID: "any"}); {
	case q.AllTenants:
	case any.Check() != nil:
		add("1 = 0")
	default:
		add("tenant = ?", q.Tenant)
	}
	if q.ID != "" {
		_, id := names(run.Key{ID: q.ID})
		add("id = ?", id)
	}
	if q.Agent != "" {
		add("agent = ?", q.Agent)
	}
	if q.Status != "" {
		add("status = ?", string(q.Status))
	}
	if !q.Before.IsZero() {
		add("updated < ?", nanos(q.Before))
	}
	if !q.DueAt.IsZero() {
		add("due <= ? AND held <= ? AND due < 9223372036854775807", nanos(q.DueAt), nanos(q.DueAt))
	}
	switch {
	case last == nil:
	case !q.DueAt.IsZero():
		at := nanos(last.Updated)
		if d := due(*last); d > math.MinInt64 {
			at = d
		}
		add(since+" >= ? AND ("+since+" > ? OR tenant > ? OR tenant = ? AND id > ?)", at, at, last.Key.Tenant, last.Key.Tenant, last.Key.ID)
	default:
		updated := nanos(last.Updated)
		add("updated <= ? AND (updated < ? OR tenant > ? OR tenant = ? AND id > ?)",
			updated, updated, last.Key.Tenant, last.Key.Tenant, last.Key.ID)
	}
	if len(terms) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(terms, " AND "), args
}
