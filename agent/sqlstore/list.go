package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
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
			last = &row{head: *q.After, updated: ledger.Nanos(q.After.Updated)}
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

// pageTime bounds the time of a page: the connection to a server may be dead without a sign.
const pageTime = 30 * time.Second

// page reads at most size rows after last, or the first ones if that is nil.
func (s *database) page(ctx context.Context, q record.Query, last *row, size int) (page []row, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	query, args := selectPage(q, last, size)
	err = s.withReader(ctx, func(c querier) error {
		return each(ctx, c, s.d.statement(query), args, func(rows *sql.Rows) error {
			var key run.Key
			var stored storedHead
			var r row
			err := rows.Scan(stored.columns(&key.Tenant, &key.ID, &r.updated, &r.due)...)
			if err != nil {
				return err
			}
			if r.head, err = stored.decode(key); err != nil {
				r.head, r.err = run.Head{Key: key}, fmt.Errorf("%w: %w", record.ErrDamaged, err)
			}
			page = append(page, r)
			return nil
		})
	})
	return page, err
}

// Count implements [Store].
func (s *database) Count(ctx context.Context, q record.Query) (n int, err error) {
	found := conditions(q, nil)
	query, args := `SELECT 1 FROM mcpchain_runs`+found.where(), found.args
	if q.Limit > 0 {
		query += ` LIMIT ?`
		args = append(args, q.Limit)
	}
	err = s.withReader(ctx, func(c querier) error {
		return one(ctx, c, s.d.statement(`SELECT count(*) FROM (`+query+`) AS selected`), args, &n)
	})
	return subject.Result(n, err, "count runs")
}

const selectRows = `SELECT tenant, id, updated, due, epoch, held, ttl, answers, head FROM mcpchain_runs`

// selectPage returns the SQL of a page of a list. Indexes have the order within a status, so a list
// of all statuses is the union of a list for each status.
func selectPage(q record.Query, last *row, size int) (query string, args []any) {
	order := orderOf(q).clause()
	if q.Status != "" || q.ID != "" || !q.DueAt.IsZero() {
		found := conditions(q, last)
		return selectRows + found.where() + order, append(found.args, size)
	}
	var lists []string
	add := func(list record.Query, found *selection) {
		const columns = `SELECT num, updated, tenant, id FROM `
		lists = append(lists, columns+`(`+columns+`mcpchain_runs`+found.where()+orderOf(list).clause()+`) AS list`)
		args = append(append(args, found.args...), size)
	}
	unknown := conditions(q, last)
	unknown.add(unknownStatus)
	add(q, unknown)
	for _, status := range statuses {
		list := q
		list.Status = status
		add(list, conditions(list, last))
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
// [ledger.HeadOrder].
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

// dueSince is [run.Head.DueSince] in SQL: due is dueNow for a run that is running or has a reply.
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

// selection is the conditions for rows.
type selection struct {
	terms []string
	args  []any // values of the parameters
}

// add adds a condition, and the values of its parameters.
func (s *selection) add(term string, values ...any) {
	s.terms = append(s.terms, term)
	s.args = append(s.args, values...)
}

// where returns the clause with all conditions, "" without any.
func (s *selection) where() string {
	if len(s.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(s.terms, " AND ")
}

// conditions returns the conditions for the rows of a query after last, unless last is nil.
func conditions(q record.Query, last *row) *selection {
	s := new(selection)
	switch validTenant := ledger.CheckKey(run.Key{Tenant: q.Tenant, ID: "any"}) == nil; {
	case q.AllTenants:
	case validTenant:
		s.add("tenant = ?", q.Tenant)
	default: // no run has it, and a database may refuse its text
		s.add("1 = 0")
	}
	if q.ID != "" {
		s.add("id = ?", columnsOf(run.Key{ID: q.ID})[1])
	}
	if n := len(q.Agents); n > 0 {
		s.add("agent IN (?" + strings.Repeat(", ?", n-1) + ")")
		for _, name := range q.Agents {
			s.args = append(s.args, name)
		}
	}
	if q.Status != "" {
		s.add("status = ?", string(q.Status))
	}
	if !q.ChangedBefore.IsZero() {
		s.add(updatedColumn(q)+" < ?", ledger.Nanos(q.ChangedBefore))
	}
	if !q.DueAt.IsZero() {
		// Not held by a lease, see [run.Head.HeldAt], and due at some time.
		s.add(fmt.Sprintf("due <= ? AND (held <= ? OR ttl > 0 AND held - ttl > ?) AND due < %d", int64(dueNever)),
			ledger.Nanos(q.DueAt), ledger.Nanos(q.DueAt), ledger.Nanos(q.DueAt.Add(maxLead)))
	}
	if last != nil {
		term, values := orderOf(q).after(last)
		s.add(term, values...)
	}
	return s
}
