package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/subject"
)

// maxRows bounds the rows of one INSERT: databases bound its parameters.
const maxRows = 1000

const (
	insertRun = `INSERT INTO mcpchain_runs (tenant, id, agent, status, updated, due, seq, head, answers, epoch, held, holder)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING num`
	updateRun = `UPDATE mcpchain_runs SET agent = ?, status = ?, updated = ?, due = ?, seq = ?, head = ?, answers = 0
		WHERE tenant = ? AND id = ? AND epoch = ? AND seq = ? RETURNING num`
	updateAnswers = `UPDATE mcpchain_runs SET answers = ?, due = ? WHERE num = ?`

	insertRecords = `INSERT INTO mcpchain_records (run, seq, sum, data) VALUES `
	insertAnswers = `INSERT INTO mcpchain_answers (run, ask, sum, data) VALUES `
)

// Create implements [run.Store].
func (s *Store) Create(ctx context.Context, h run.Holder, head run.Head, records []run.Record) (run.Lease, error) {
	if err := run.CheckCreate(head, records); err != nil {
		return run.Lease{}, err
	}
	data, items, err := encode(head, records)
	if err != nil {
		return run.Lease{}, fmt.Errorf("create run %q: %w", head.Key.ID, err)
	}
	head.Answers = 0
	lease := run.Lease{Key: head.Key, Seq: head.Seq, Created: head.Created}
	err = s.writing(ctx, func(ctx context.Context, t *tx) error {
		now, err := t.d.now(ctx, t)
		if err != nil {
			return err
		}
		lease.Epoch = run.FirstEpoch(now)
		var num int64
		err = one(ctx, t, insertRun, []any{
			head.Key.Tenant, head.Key.ID, head.Agent, string(head.Status), nanos(head.Updated), due(head), int64(head.Seq), data,
			int64(lease.Epoch), until(now.Add(h.TTL)), h.Name,
		}, &num)
		if isNone(err) {
			return refuse(run.ErrExists)
		}
		if err != nil {
			return err
		}
		return t.insert(ctx, insertRecords, num, items)
	})
	if err != nil {
		return run.Lease{}, fmt.Errorf("create run %q: %w", head.Key.ID, err)
	}
	return lease, nil
}

// Append implements [run.Store].
func (s *Store) Append(ctx context.Context, lease run.Lease, head run.Head, records []run.Record, answers ...run.Answer) error {
	if err := checkAppend(lease, head, records); err != nil {
		return err
	}
	data, items, err := encode(head, records)
	if err != nil {
		return fmt.Errorf("append to run %q: %w", lease.Key.ID, err)
	}
	head.Answers = 0
	before := head.Seq - uint64(len(records))
	tenant, id := names(lease.Key)
	err = s.writing(ctx, func(ctx context.Context, t *tx) error {
		if len(answers) > 0 {
			if err := t.answerAs(ctx, lease, before, answers); err != nil {
				return err
			}
		}
		var num int64
		err := one(ctx, t, updateRun, []any{
			head.Agent, string(head.Status), nanos(head.Updated), due(head), int64(head.Seq), data,
			tenant, id, int64(lease.Epoch), int64(before),
		}, &num)
		if isNone(err) {
			return refuse(run.ErrConflict)
		}
		if err == nil && len(head.Asks) > 0 {
			err = t.countAnswers(ctx, num, head)
		}
		if err != nil {
			return err
		}
		return t.insert(ctx, insertRecords, num, items)
	})
	return subject.Wrap(err, "append record %d to run %q as its holder %d", head.Seq, lease.Key.ID, lease.Epoch)
}

// checkAppend checks all of an append that does not need the store.
func checkAppend(lease run.Lease, head run.Head, records []run.Record) error {
	stored := run.Head{Key: lease.Key, Epoch: lease.Epoch}
	if len(records) > 0 {
		stored.Seq = records[0].Seq - 1
	}
	return run.CheckAppend(stored, lease, head, records)
}

func encode(head run.Head, records []run.Record) ([]byte, []item, error) {
	data, err := encodeHead(head)
	if err != nil {
		return nil, nil, err
	}
	items, err := encodeRecords(records)
	return data, items, err
}

// countAnswers keeps how many open questions have an answer.
func (t *tx) countAnswers(ctx context.Context, num int64, head run.Head) error {
	rows, err := t.QueryContext(ctx, `SELECT ask FROM mcpchain_answers WHERE run = ?`, num)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var ask string
		if err := rows.Scan(&ask); err != nil {
			return err
		}
		if slices.Contains(head.Asks, ask) {
			head.Answers++
		}
	}
	if err := rows.Err(); err != nil || head.Answers == 0 {
		return err
	}
	_, err = t.exec(ctx, updateAnswers, head.Answers, due(head), num)
	return err
}

// insert adds records or answers to a run.
func (t *tx) insert(ctx context.Context, into string, num int64, items []item) error {
	for chunk := range slices.Chunk(items, maxRows) {
		args := make([]any, 0, 4*len(chunk))
		for _, it := range chunk {
			args = append(args, num, it.name, sum(it.data), it.data)
		}
		rows := strings.Repeat("(?, ?, ?, ?), ", len(chunk)-1) + "(?, ?, ?, ?)"
		if _, err := t.exec(ctx, into+rows, args...); err != nil {
			return err
		}
	}
	return nil
}
