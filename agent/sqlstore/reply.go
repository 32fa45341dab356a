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
)

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
