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

func (s *database) load(ctx context.Context, key run.Key, statement string) (log *record.Log, err error) {
	tenant, id := columnsOf(key)
	err = s.withReader(ctx, func(q querier) error {
		rows, err := q.QueryContext(ctx, s.d.statement(statement), tenant, id, tenant, id, tenant, id)
		if err == nil {
			log, err = readLog(key, rows)
		}
		return err
	})
	return subject.Result(log, err, "load run %q", key.ID)
}

// readLog reads the rows of selectLog, and closes them.
func readLog(key run.Key, rows *sql.Rows) (*record.Log, error) {
	defer func() { _ = rows.Close() }()
	l := loading{replies: map[string]run.Reply{}}
	for rows.Next() {
		var r logRow
		if err := rows.Scan(&r.part, &r.epochOrSeq, &r.heldOrSum, &r.ttl, &r.replies, &r.data); err != nil {
			return nil, err
		}
		if err := l.add(key, r); err != nil {
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return l.finish()
}

// logRow is a row of selectLog.
type logRow struct {
	part       int
	epochOrSeq int64 // the epoch of the head, or the number of a record
	heldOrSum  int64 // the end of the head's lease, or the checksum of a record or reply
	ttl        int64 // of the lease
	replies    int   // how many the head counts
	data       []byte
}

type loading struct {
	log     record.Log
	found   bool
	replies map[string]run.Reply
}

func (l *loading) add(key run.Key, r logRow) (err error) {
	switch r.part {
	case headPart:
		l.found = true
		l.log.Head, err = decodeHead(key, r.data, r.epochOrSeq, r.heldOrSum, r.ttl, r.replies)
		return err
	case recordPart:
		return l.addRecord(r.epochOrSeq, r.heldOrSum, r.data)
	case replyPart:
		return l.addReply(r.heldOrSum, r.data)
	}
	return fmt.Errorf("there is no part %d of a log", r.part)
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

// addReply adds a reply, also one to a question that is not open.
func (l *loading) addReply(sum int64, data []byte) error {
	var r run.Reply
	if err := decode(data, sum, &r); err != nil {
		return fmt.Errorf("read a reply: %w", err)
	}
	l.replies[r.Question] = r
	return nil
}

// finish returns the log with its records and the replies to open questions in order. The error
// matches [record.ErrNotFound] if there is no head, and [record.ErrCorrupt] if the records are not
// those up to the head's last one.
func (l *loading) finish() (*record.Log, error) {
	if !l.found {
		return nil, record.ErrNotFound
	}
	if err := l.sortRecords(); err != nil {
		return nil, err
	}
	for _, question := range l.log.Head.QuestionIDs {
		if r, ok := l.replies[question]; ok {
			l.log.Replies = append(l.log.Replies, r)
		}
	}
	return &l.log, nil
}

// sortRecords sorts the records, and checks that none is missing and none is too many. They begin with
// the first one or a snapshot.
func (l *loading) sortRecords() error {
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
	return nil
}
