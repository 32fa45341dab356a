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

// The kinds of rows that selectLog returns.
const (
	headPart = iota
	recordPart
	replyPart
)

// Load implements [record.Store].
func (s *database) Load(ctx context.Context, key run.Key) (*record.Log, error) {
	return s.loadBy(ctx, key, selectLog)
}

// LoadCurrent implements [record.CurrentLoader]. It reads the records from the last snapshot on, and
// all of them if these are not complete.
func (s *database) LoadCurrent(ctx context.Context, key run.Key) (*record.Log, error) {
	log, err := s.loadBy(ctx, key, selectCurrent)
	if errors.Is(err, record.ErrCorrupt) { // a program of version 1 has written the head
		return s.Load(ctx, key)
	}
	return log, err
}

// loadBy loads a run with one of the statements for logs.
func (s *database) loadBy(ctx context.Context, key run.Key, statement string) (*record.Log, error) {
	var l loading
	err := s.load(ctx, key, statement, &l)
	return subject.Result(&l.log, err, "load run %q", key.ID)
}

// load reads with the compiled statement. Its connection may not wait for a lock of another
// process; if that fails, load reads again on one that does.
func (s *database) load(ctx context.Context, key run.Key, statement string, l *loading) error {
	tenant, id := columnsOf(key)
	args := []any{tenant, id, tenant, id, tenant, id}
	if stmt := s.compiled[statement]; stmt != nil {
		if rows, err := stmt.QueryContext(ctx, args...); err == nil && l.read(key, rows) == nil {
			return l.check()
		}
	}
	err := s.withReader(ctx, func(q querier) error {
		rows, err := q.QueryContext(ctx, s.d.statement(statement), args...)
		if err != nil {
			return err
		}
		return l.read(key, rows)
	})
	if err != nil {
		return err
	}
	return l.check()
}

// loading is a log that is being read, from rows in any order.
type loading struct {
	log     record.Log
	found   bool
	replies map[string]run.Reply
}

// read reads all rows, and closes them. It forgets what it has read before.
func (l *loading) read(key run.Key, rows *sql.Rows) error {
	defer func() { _ = rows.Close() }()
	*l = loading{replies: map[string]run.Reply{}}
	for rows.Next() {
		var part, first, second, ttl int64
		var replies int
		var data []byte
		if err := rows.Scan(&part, &first, &second, &ttl, &replies, &data); err != nil {
			return err
		}
		if err := l.add(key, part, first, second, ttl, replies, data); err != nil {
			return err
		}
	}
	return rows.Err()
}

// add adds a row of selectLog: the head with its epoch and the end of its lease, a record with its
// number and checksum, or a reply, whose checksum is second.
func (l *loading) add(key run.Key, part, first, second, ttl int64, replies int, data []byte) (err error) {
	switch part {
	case headPart:
		l.found = true
		l.log.Head, err = decodeHead(key, data, first, second, ttl, replies)
	case recordPart:
		var r run.Record
		if err = decode(data, second, &r); err != nil {
			return fmt.Errorf("read record %d: %w", first, err)
		}
		if r.Seq != uint64(first) {
			return fmt.Errorf("%w: record %d is in the row of record %d", record.ErrCorrupt, r.Seq, first)
		}
		l.log.Records = append(l.log.Records, r)
	case replyPart:
		var r run.Reply
		if err = decode(data, second, &r); err != nil {
			return fmt.Errorf("read an answer: %w", err)
		}
		l.replies[r.Question] = r
	}
	return err
}

// check sorts the log, and checks that it is complete. The error matches [record.ErrNotFound] if
// there is no head, and [record.ErrCorrupt] if a record is missing.
func (l *loading) check() error {
	if !l.found {
		return record.ErrNotFound
	}
	slices.SortFunc(l.log.Records, func(a, b run.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	first := uint64(1)
	if len(l.log.Records) > 0 && ledger.Begins(l.log.Records[0]) {
		first = l.log.Records[0].Seq
	}
	for i, r := range l.log.Records {
		if want := first + uint64(i); r.Seq != want {
			return fmt.Errorf("%w: record %d stands where record %d should", record.ErrCorrupt, r.Seq, want)
		}
	}
	if last := first + uint64(len(l.log.Records)) - 1; last != l.log.Head.Seq {
		return fmt.Errorf("%w: its last record is %d and should be %d", record.ErrCorrupt, last, l.log.Head.Seq)
	}
	for _, question := range l.log.Head.QuestionIDs {
		if r, ok := l.replies[question]; ok {
			l.log.Replies = append(l.log.Replies, r)
		}
	}
	return nil
}
