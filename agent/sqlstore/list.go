package sqlstore

import (
	"context"
	"fmt"
	"iter"
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
	query := `SELECT tenant, id, epoch, held, answers, head FROM mcpchain_runs` + where + ` ORDER BY updated DESC, tenant, id LIMIT ?`
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
	if q.Agent != "" {
		add("agent = ?", q.Agent)
	}
	if q.Status != "" {
		add("status = ?", string(q.Status))
	}
	if !q.DueAt.IsZero() {
		add("due <= ? AND held <= ? AND due < 9223372036854775807", nanos(q.DueAt), nanos(q.DueAt))
	}
	if last != nil {
		updated := nanos(last.Updated)
		add("updated <= ? AND (updated < ? OR tenant > ? OR tenant = ? AND id > ?)",
			updated, updated, last.Key.Tenant, last.Key.Tenant, last.Key.ID)
	}
	if len(terms) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(terms, " AND "), args
}
