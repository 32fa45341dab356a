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

// maxPage bounds the heads that one query of List reads. The first one reads at most firstPage, because many lists end
// early, and each of the next ones eight times as many as the one before.
const (
	firstPage = 128
	maxPage   = 1000
)

// List implements [record.Store]. It reads page by page, and holds no connection while the loop
// body runs. A run that changes during the loop may be missed.
func (s *database) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) {
		var last *row
		if q.After != nil && q.DueAt.IsZero() {
			last = &row{head: *q.After, updated: nanos(q.After.Updated)}
		}
		remaining := q.Limit
		if remaining <= 0 { // no limit
			remaining = math.MaxInt
		}
		for most := firstPage; remaining > 0; most = min(8*most, maxPage) {
			size := min(most, s.pageSize, remaining)
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
			remaining -= len(rows)
			last = &rows[len(rows)-1]
		}
	}
}

// row is a run of a list. The columns give its place in the order even if its head cannot be read.
type row struct {
	head         run.Head
	err          error // matches record.ErrDamaged, or nil
	updated, due int64
}

// page reads at most size rows after last, or the first ones if that is nil.
func (s *database) page(ctx context.Context, q record.Query, last *row, size int) (page []row, err error) {
	query, args := selectPage(q, last, size)
	err = s.withReader(ctx, func(c querier) error {
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
				r.head, r.err = run.Head{Key: key}, fmt.Errorf("%w: %w", record.ErrDamaged, err)
			}
			page = append(page, r)
			return nil
		})
	})
	return page, err
}

func (s *database) Count(ctx context.Context, q record.Query) (n int, err error) {
	where, args := conditions(q, nil)
	query := `SELECT 1 FROM mcpchain_runs` + where
	if q.Limit > 0 {
		query += ` LIMIT ?`
		args = append(args, q.Limit)
	}
	err = s.withReader(ctx, func(c querier) error {
		return one(ctx, c, s.d.statement(`SELECT count(*) FROM (`+query+`) AS selected`), args, &n)
	})
	return subject.Result(n, err, "count runs")
}

const selectRows = `SELECT tenant, id, epoch, held, ttl, answers, updated, due, head FROM mcpchain_runs`

// selectPage returns the SQL of a page of a list. Indexes have the order within a status, so a list
// of all statuses is the union of a list for each status.
func selectPage(q record.Query, last *row, size int) (query string, args []any) {
	order := orderOf(q).clause()
	if q.Status != "" || q.ID != "" || !q.DueAt.IsZero() {
		where, args := conditions(q, last)
		return selectRows + where + order, append(args, size)
	}
	var lists []string
	add := func(list record.Query, terms ...string) {
		where, values := conditions(list, last, terms...)
		const columns = `SELECT num, updated, tenant, id FROM `
		lists = append(lists, columns+`(`+columns+`mcpchain_runs`+where+orderOf(list).clause()+`) AS list`)
		args = append(append(args, values...), size)
	}
	add(q, unknownStatus)
	for _, status := range statuses {
		list := q
		list.Status = status
		add(list)
	}
	page := `(SELECT num FROM (` + strings.Join(lists, " UNION ALL ") + order + `) AS page)`
	return selectRows + ` WHERE num IN ` + page + order, append(args, size, size)
}

// statuses are the statuses that this program knows, in alphabetical order.
var statuses = []run.Status{run.StatusCancelled, run.StatusFinished, run.StatusFailed, run.StatusRunning, run.StatusWaiting}

// unknownStatus is the condition for a status that a newer program has stored: a range of an index
// between each two known ones.
var unknownStatus = func() string {
	text := "(status < '" + string(statuses[0]) + "'"
	for i, status := range statuses[1:] {
		text += " OR status > '" + string(statuses[i]) + "' AND status < '" + string(status) + "'"
	}
	return text + " OR status > '" + string(statuses[len(statuses)-1]) + "')"
}()

// listOrder is the order of a list: by a column or an expression, then by tenant and id. See
// [record.Query.Compare].
type listOrder struct {
	by   string
	desc bool
}

func orderOf(q record.Query) listOrder {
	if !q.DueAt.IsZero() {
		return listOrder{by: dueSince}
	}
	return listOrder{by: updatedColumn(q), desc: true}
}

// dueSince is [run.Head.DueSince] in SQL.
var dueSince = fmt.Sprintf("(CASE WHEN due = %d THEN updated ELSE due END)", int64(dueNow))

// updatedColumn returns the column with the time of a run's last change, of two the one that an
// index of the query has. Running runs have no such index, because each append would change it.
func updatedColumn(q record.Query) string {
	if q.ID != "" || q.Status == "" || q.Status == run.StatusRunning {
		return "updated"
	}
	return "placed"
}

func (o listOrder) clause() string {
	if o.desc {
		return " ORDER BY " + o.by + " DESC, tenant, id LIMIT ?"
	}
	return " ORDER BY " + o.by + ", tenant, id LIMIT ?"
}

// after returns the condition for the rows after last, and the values of its parameters.
func (o listOrder) after(last *row) (term string, args []any) {
	key, at, operator := last.head.Key, last.updated, " <"
	if !o.desc {
		operator = " >"
		if last.due > dueNow {
			at = last.due
		}
	}
	return o.by + operator + "= ? AND (" + o.by + operator + " ? OR tenant > ? OR tenant = ? AND id > ?)",
		[]any{at, at, key.Tenant, key.Tenant, key.ID}
}

// conditions returns the SQL conditions for the rows of a query after last, unless last is nil, and
// the values of their parameters.
func conditions(q record.Query, last *row, terms ...string) (where string, args []any) {
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
		_, id := columnsOf(run.Key{ID: q.ID})
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
	if !q.ChangedBefore.IsZero() {
		add(updatedColumn(q)+" < ?", nanos(q.ChangedBefore))
	}
	if !q.DueAt.IsZero() {
		// Not held by a lease, see [run.Head.HeldAt], and due at some time.
		add(fmt.Sprintf("due <= ? AND (held <= ? OR ttl > 0 AND held - ttl > ?) AND due < %d", int64(dueNever)),
			nanos(q.DueAt), nanos(q.DueAt), nanos(q.DueAt.Add(run.MaxLead)))
	}
	if last != nil {
		term, values := orderOf(q).after(last)
		add(term, values...)
	}
	if len(terms) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(terms, " AND "), args
}
