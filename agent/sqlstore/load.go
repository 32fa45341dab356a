package sqlstore

import (
	"cmp"
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

func (s *database) Load(ctx context.Context, key run.Key) (*record.Log, error) {
	return s.load(ctx, key, selectLog)
}

// LoadCurrent implements [record.Store]. It reads the records from the last snapshot on, and
// all of them if these are damaged or not complete.
func (s *database) LoadCurrent(ctx context.Context, key run.Key) (*record.Log, error) {
	log, err := s.load(ctx, key, selectCurrent)
	if errors.Is(err, record.ErrCorrupt) { // a program of version 1 has written the head
		return s.Load(ctx, key)
	}
	return log, err
}

func (s *database) load(ctx context.Context, key run.Key, statement string) (*record.Log, error) {
	l := loading{key: key, replies: map[string]run.Reply{}}
	err := s.withReader(ctx, func(q querier) error {
		return each(ctx, q, s.d.statement(statement), slices.Repeat(columnsOf(key), 3), l.add)
	})
	if err == nil {
		err = l.finish()
	}
	return subject.Result(&l.log, err, "load run %q", key.ID)
}

type loading struct {
	key     run.Key
	log     record.Log
	replies map[string]run.Reply // by question, including closed ones
}

// add adds a row of selectLog.
func (l *loading) add(rows *sql.Rows) (err error) {
	var part int
	var c storedHead
	if err := rows.Scan(c.columns(&part)...); err != nil {
		return err
	}
	switch part {
	case headPart:
		l.log.Head, err = c.decode(l.key)
	case recordPart:
		err = l.addRecord(c.epoch, c.held, c.data)
	case replyPart:
		var r run.Reply
		if err = decode(c.data, c.held, &r); err != nil {
			return fmt.Errorf("read a reply: %w", err)
		}
		l.replies[r.Question] = r
	}
	return err
}

func (l *loading) addRecord(number, sum int64, data []byte) error {
	var r run.Record
	if err := decode(data, sum, &r); err != nil {
		return fmt.Errorf("read record %d: %w", number, err)
	}
	if r.Seq != uint64(number) {
		return fmt.Errorf("%w: record %d is in the row of record %d", record.ErrCorrupt, r.Seq, number)
	}
	l.log.Records = append(l.log.Records, r)
	return nil
}

// finish sorts the records, and adds the replies to open questions. The error matches [record.ErrNotFound]
// if there is no head, and [record.ErrCorrupt] unless the records are all from the first one or a snapshot
// to the head's last one.
func (l *loading) finish() error {
	head, records := &l.log.Head, l.log.Records
	if head.Key.ID == "" { // there is no row
		return record.ErrNotFound
	}
	slices.SortFunc(records, func(a, b run.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	first := uint64(1)
	if len(records) > 0 && ledger.Begins(records[0]) {
		first = records[0].Seq
	}
	for i, r := range records {
		if want := first + uint64(i); r.Seq != want {
			return fmt.Errorf("%w: got record %d, want %d", record.ErrCorrupt, r.Seq, want)
		}
	}
	if last := first + uint64(len(records)) - 1; last != head.Seq {
		return fmt.Errorf("%w: the last record is %d, the head says %d", record.ErrCorrupt, last, head.Seq)
	}
	l.log.Replies = ledger.RepliesTo(head.QuestionIDs, l.replies)
	return nil
}
