package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/agent/internal/subject"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

func (s *database) Create(
	ctx context.Context, h record.Holder, head run.Head, records []run.Record,
) (record.Lease, error) {
	if err := record.CheckRecords(nil, record.Lease{}, head, records); err != nil {
		return record.Lease{}, err
	}
	data, items, err := encode(head, records)
	head.ReplyCount = 0
	lease := record.Lease{Key: head.Key, Seq: head.Seq, Created: head.Created}
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, t *tx) error {
			now, err := t.d.now(ctx, t)
			if err != nil {
				return err
			}
			lease.Epoch = ledger.FirstEpoch(now)
			if err := t.change(ctx, record.ErrExists, insertRun,
				head.Key.Tenant, head.Key.ID, head.Agent, string(head.Status), ledger.Nanos(head.Updated), due(head),
				int64(head.Seq), int64(head.Snapshot), data,
				int64(lease.Epoch), timeColumn(now.Add(h.TTL)), int64(max(h.TTL, 0)), h.Name); err != nil {
				return err
			}
			return t.insert(ctx, insertRecords, head.Key, items)
		})
	}
	return subject.Result(lease, err, "create run %q", head.Key.ID)
}

func (s *database) Append(
	ctx context.Context, lease record.Lease, head run.Head, records []run.Record, replies ...run.Reply,
) error {
	if err := checkAppend(lease, head, records); err != nil {
		return err
	}
	data, items, err := encode(head, records)
	if err != nil {
		return fmt.Errorf("append to run %q: %w", lease.Key.ID, err)
	}
	head.ReplyCount = 0
	before := head.Seq - uint64(len(records))
	update := slices.Concat(
		[]any{head.Agent, string(head.Status), ledger.Nanos(head.Updated), due(head), int64(head.Seq), int64(head.Snapshot), data},
		columnsOf(lease.Key), []any{int64(lease.Epoch), int64(before)})
	hasReplies := len(replies) > 0 || len(head.QuestionIDs) > 0
	if n := len(items); s.d.remote && 0 < n && n <= fewRows && !hasReplies {
		err = s.appendInOne(ctx, update, items)
	} else {
		err = s.appendInSteps(ctx, lease, head, update, items, replies)
	}
	return subject.Wrap(err, "append record %d to run %q as its holder %d", head.Seq, lease.Key.ID, lease.Epoch)
}

// appendInOne appends with one statement, which is a transaction by itself and one round trip
// to the server.
func (s *database) appendInOne(ctx context.Context, update []any, items []item) error {
	args := update
	for _, it := range items {
		args = append(args, it.key, sum(it.data), it.data)
	}
	text := s.d.statement(appendRecords(len(items)))
	return s.attempt(ctx, func() error {
		return s.inTurn(ctx, func() error {
			result, err := s.db.ExecContext(ctx, text, args...)
			if err != nil {
				return err
			}
			if n, err := result.RowsAffected(); err != nil || n > 0 {
				return err
			}
			return refuse(record.ErrConflict)
		})
	})
}

// appendInSteps appends in a transaction, and stores replies and their number with the records.
func (s *database) appendInSteps(
	ctx context.Context, lease record.Lease, head run.Head, update []any, items []item, replies []run.Reply,
) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if len(replies) > 0 {
			if err := t.replyAs(ctx, lease, head.Seq-uint64(len(items)), replies); err != nil {
				return err
			}
		}
		if err := t.change(ctx, record.ErrConflict, updateRun, update...); err != nil {
			return err
		}
		if len(head.QuestionIDs) > 0 {
			if err := t.countReplies(ctx, head); err != nil {
				return err
			}
		}
		return t.insert(ctx, insertRecords, head.Key, items)
	})
}

// checkAppend returns an error for an append that is wrong whatever is stored.
func checkAppend(lease record.Lease, head run.Head, records []run.Record) error {
	stored := run.Head{Key: lease.Key, Epoch: lease.Epoch}
	if len(records) > 0 {
		stored.Seq = records[0].Seq - 1
	}
	return record.CheckRecords(&stored, lease, head, records)
}

// encode returns the column with a head and the rows of records.
func encode(head run.Head, records []run.Record) ([]byte, []item, error) {
	data, err := encodeHead(head)
	if err != nil {
		return nil, nil, err
	}
	items, err := encodeAll(records, func(r run.Record) any { return int64(r.Seq) })
	return data, items, err
}

func (t *tx) countReplies(ctx context.Context, head run.Head) error {
	err := each(ctx, t, selectQuestions, []any{head.Key.Tenant, head.Key.ID}, func(rows *sql.Rows) error {
		var question string
		err := rows.Scan(&question)
		if slices.Contains(head.QuestionIDs, question) {
			head.ReplyCount++
		}
		return err
	})
	if err == nil && head.ReplyCount > 0 {
		err = t.updateReplies(ctx, head)
	}
	return err
}

// updateReplies stores head.ReplyCount, and since when the run is due because of them.
func (t *tx) updateReplies(ctx context.Context, head run.Head) error {
	_, err := t.exec(ctx, updateReplies, head.ReplyCount, due(head), head.Key.Tenant, head.Key.ID)
	return err
}

func (t *tx) insert(ctx context.Context, insert string, key run.Key, items []item) error {
	for chunk := range slices.Chunk(items, manyRows) {
		args := []any{key.Tenant, key.ID}
		for _, it := range chunk {
			args = append(args, it.key, sum(it.data), it.data)
		}
		if _, err := t.exec(ctx, rowsOf(insert, len(chunk)), args...); err != nil {
			return err
		}
	}
	return nil
}

func (s *database) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	err := s.write(ctx, func(ctx context.Context, t *tx) error { return t.reply(ctx, key, replies) })
	return subject.Wrap(err, "answer run %q", key.ID)
}

// reply stores replies and their number. It changes nothing if the run has them.
func (t *tx) reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	head, err := t.head(ctx, key)
	if err != nil {
		return err
	}
	fresh, err := t.insertReplies(ctx, head, replies)
	if err != nil || fresh == 0 {
		return err
	}
	head.ReplyCount += fresh
	return t.updateReplies(ctx, head)
}

// replyAs stores replies for the holder of a run, who appends after record number last. It changes
// nothing if the append will be refused.
func (t *tx) replyAs(ctx context.Context, lease record.Lease, last uint64, replies []run.Reply) error {
	head, err := t.head(ctx, lease.Key)
	if errors.Is(err, record.ErrNotFound) || err == nil && (head.Epoch != lease.Epoch || head.Seq != last) {
		return refuse(record.ErrConflict)
	}
	if err == nil {
		_, err = t.insertReplies(ctx, head, replies)
	}
	return err
}

// head reads the head of a run and locks its row.
func (t *tx) head(ctx context.Context, key run.Key) (run.Head, error) {
	var stored storedHead
	if err := t.one(ctx, record.ErrNotFound, selectHead+t.d.lockRows, columnsOf(key), stored.columns()...); err != nil {
		return run.Head{}, err
	}
	head, err := stored.decode(key)
	return head, refuse(err)
}

// insertReplies inserts the replies that the run does not have yet, and returns their number.
func (t *tx) insertReplies(ctx context.Context, head run.Head, replies []run.Reply) (int, error) {
	var stored map[string]run.Reply
	isClosed := func(r run.Reply) bool { return !slices.Contains(head.QuestionIDs, r.Question) }
	if head.ReplyCount > 0 || slices.ContainsFunc(replies, isClosed) {
		var err error
		if stored, err = t.replies(ctx, head.Key); err != nil {
			return 0, err
		}
	}
	fresh, err := record.CheckReplies(head, stored, replies)
	if err != nil || len(fresh) == 0 {
		return 0, refuse(err)
	}
	items, err := encodeAll(fresh, func(r run.Reply) any { return r.Question })
	if err != nil {
		return 0, refuse(err)
	}
	return len(fresh), t.insert(ctx, insertReplies, head.Key, items)
}

func (t *tx) replies(ctx context.Context, key run.Key) (map[string]run.Reply, error) {
	replies := map[string]run.Reply{}
	return replies, each(ctx, t, selectReplies, []any{key.Tenant, key.ID}, func(rows *sql.Rows) error {
		var question string
		var sum int64
		var data []byte
		if err := rows.Scan(&question, &sum, &data); err != nil {
			return err
		}
		var r run.Reply
		if err := decode(data, sum, &r); err != nil {
			return refuse(fmt.Errorf("read the answer to question %q: %w", question, err))
		}
		replies[question] = r
		return nil
	})
}
