package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// maxPage bounds the heads that one query of List reads.
const maxPage = 1000

// List implements [record.Store]. It reads page by page, and holds no connection while the loop
// body runs. A run that changes during the loop may be missed.
func (s *database) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) {
		var last *row
		if q.After != nil && q.DueAt.IsZero() {
			last = &row{head: *q.After, updated: nanos(q.After.Updated)}
		}
		left := q.Limit
		if left <= 0 { // no limit
			left = math.MaxInt
		}
		for left > 0 {
			size := min(s.pageSize, left)
			rows, err := s.page(ctx, q, last, size)
			if err != nil {
				yield(run.Head{}, fmt.Errorf("list runs: %w", err))
				return
			}
			for i := range rows {
				if !yield(rows[i].head, rows[i].err) {
					return
				}
			}
			if len(rows) < size {
				return
			}
			left -= len(rows)
			last = &rows[len(rows)-1]
		}
	}
}

// row is a run of a list. The columns give its place in the order even if its head cannot be read.
type row struct {
	head         run.Head
	err          error // a *record.DamagedError or nil
	updated, due int64
}

// page reads at most size rows after last, or the first ones if that is nil.
func (s *database) page(ctx context.Context, q record.Query, last *row, size int) (page []row, err error) {
	query, args := selectPage(q, last, size)
	err = s.reading(ctx, func(c querier) error {
		return each(ctx, c, s.d.statement(query), args, func(rows *sql.Rows) error {
			var key run.Key
			var epoch, held, ttl int64
			var replies int
			var data []byte
			var r row
			err := rows.Scan(&key.Tenant, &key.ID, &epoch, &held, &ttl, &replies, &r.updated, &r.due, &data)
			if err != nil {
				return err
			}
			if r.head, err = decodeHead(key, data, epoch, held, ttl, replies); err != nil {
				r.head, r.err = run.Head{Key: key}, &record.DamagedError{Key: key, Err: err}
			}
			page = append(page, r)
			return nil
		})
	})
	return page, err
}

// Count returns how many runs a query selects. Limit bounds the number and the cost.
func (s *database) Count(ctx context.Context, q record.Query) (n int, err error) {
	where, args := conditions(q, column(q), nil)
	query := `SELECT 1 FROM mcpchain_runs` + where
	if q.Limit > 0 {
		query += ` LIMIT ?`
		args = append(args, q.Limit)
	}
	err = s.reading(ctx, func(c querier) error {
		return one(ctx, c, s.d.statement(`SELECT count(*) FROM (`+query+`) AS selected`), args, &n)
	})
	return subject.Result(n, err, "count runs")
}

// since is [run.Head.DueSince] in SQL. In the column due the least number stands for a run that is due
// whatever the time is.
const since = `(CASE WHEN due = -9223372036854775808 THEN updated ELSE due END)`

const selectRows = `SELECT tenant, id, epoch, held, ttl, answers, updated, due, head FROM mcpchain_runs`

// selectPage returns the SQL of a page of a list. A list of all statuses is a union of one list
// per status, because indexes have the order within a status.
func selectPage(q record.Query, last *row, size int) (query string, args []any) {
	if q.Status != "" || q.ID != "" || !q.DueAt.IsZero() {
		where, args := conditions(q, column(q), last)
		return selectRows + where + order(q, column(q)), append(args, size)
	}
	var lists []string
	add := func(list record.Query, terms ...string) {
		where, values := conditions(list, column(list), last, terms...)
		lists = append(lists, `SELECT num, updated, tenant, id FROM (SELECT num, updated, tenant, id FROM mcpchain_runs`+where+order(list, column(list))+`) AS list`)
		args = append(append(args, values...), size)
	}
	add(q, otherStatus)
	for _, status := range statuses {
		list := q
		list.Status = status
		add(list)
	}
	return selectRows + ` WHERE num IN (SELECT num FROM (` + strings.Join(lists, " UNION ALL ") + ` ORDER BY updated DESC, tenant, id LIMIT ?) AS page)` +
		order(q, "updated"), append(args, size, size)
}

// statuses are the statuses that this program knows, in order.
var statuses = []run.Status{run.StatusCancelled, run.StatusFinished, run.StatusFailed, run.StatusRunning, run.StatusWaiting}

// otherStatus is the condition for a status of a later version, as ranges of an index.
var otherStatus = func() string {
	text := "(status < '" + string(statuses[0]) + "'"
	for i, status := range statuses[1:] {
		text += " OR status > '" + string(statuses[i]) + "' AND status < '" + string(status) + "'"
	}
	return text + " OR status > '" + string(statuses[len(statuses)-1]) + "')"
}()

// column returns the index column that orders the runs of a query, or the table's column if
// there is no index: running runs have none, because each append would change it.
func column(q record.Query) string {
	if q.ID != "" || q.Status == "" || q.Status == run.StatusRunning {
		return "updated"
	}
	return "placed"
}

// order returns ORDER BY and LIMIT of a query, see [record.Query.Compare].
func order(q record.Query, column string) string {
	if !q.DueAt.IsZero() {
		return ` ORDER BY ` + since + `, tenant, id LIMIT ?`
	}
	return ` ORDER BY ` + column + ` DESC, tenant, id LIMIT ?`
}

// conditions returns a query as SQL conditions, and the values of their parameters.
func conditions(q record.Query, column string, last *row, terms ...string) (where string, args []any) {
	add := func(term string, values ...any) {
		terms = append(terms, term)
		args = append(args, values...)
	}
	if !q.AllTenants {
		if key := (run.Key{Tenant: q.Tenant, ID: "any"}); key.Check() == nil {
			add("tenant = ?", q.Tenant)
		} else {
			add("1 = 0")
		}
	}
	if q.ID != "" {
		_, id := names(run.Key{ID: q.ID})
		add("id = ?", id)
	}
	if len(q.Agents) > 0 {
		terms = append(terms, "agent IN (?"+strings.Repeat(", ?", len(q.Agents)-1)+")")
		for _, name := range q.Agents {
			args = append(args, name)
		}
	}
	if q.Status != "" {
		add("status = ?", string(q.Status))
	}
	if !q.Before.IsZero() {
		add(column+" < ?", nanos(q.Before))
	}
	if !q.DueAt.IsZero() {
		add("due <= ? AND (held <= ? OR ttl > 0 AND held - ttl > ?) AND due < 9223372036854775807", nanos(q.DueAt), nanos(q.DueAt), nanos(q.DueAt.Add(run.MaxLead)))
	}
	if last != nil {
		key, at, behind := last.head.Key, last.updated, " <"
		if !q.DueAt.IsZero() {
			column, behind = since, " >"
			if last.due > math.MinInt64 {
				at = last.due
			}
		}
		add(column+behind+"= ? AND ("+column+behind+" ? OR tenant > ? OR tenant = ? AND id > ?)", at, at, key.Tenant, key.Tenant, key.ID)
	}
	if len(terms) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(terms, " AND "), args
}
