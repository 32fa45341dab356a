package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
)

// The parts of what selectLog returns.
const (
	headPart = iota
	recordPart
	answerPart
)

// selectLog reads all of a run in one statement, so that it is of one moment.
const selectLog = `SELECT 0, epoch, held, answers, head FROM mcpchain_runs WHERE tenant = ? AND id = ?
	UNION ALL SELECT 1, c.seq, c.sum, 0, c.data FROM mcpchain_runs r JOIN mcpchain_records c ON c.run = r.num WHERE r.tenant = ? AND r.id = ?
	UNION ALL SELECT 2, 0, a.sum, 0, a.data FROM mcpchain_runs r JOIN mcpchain_answers a ON a.run = r.num WHERE r.tenant = ? AND r.id = ?`

// Load implements [run.Store].
func (s *Store) Load(ctx context.Context, key run.Key) (*run.Log, error) {
	var l loading
	if err := s.load(ctx, key, &l); err != nil {
		return nil, fmt.Errorf("load run %q: %w", key.ID, err)
	}
	return &l.log, nil
}

func (s *Store) load(ctx context.Context, key run.Key, l *loading) error {
	err := s.reading(ctx, func(q querier) error {
		tenant, id := names(key)
		rows, err := q.QueryContext(ctx, s.d.statement(selectLog), tenant, id, tenant, id, tenant, id)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		return l.read(key, rows)
	})
	if err != nil {
		return err
	}
	return l.check()
}

// loading is a log that is being read, its rows in any order.
type loading struct {
	log     run.Log
	found   bool
	answers map[string]run.Answer
}

func (l *loading) read(key run.Key, rows *sql.Rows) error {
	l.answers = map[string]run.Answer{}
	for rows.Next() {
		var part, n, m int64
		var answers int
		var data []byte
		if err := rows.Scan(&part, &n, &m, &answers, &data); err != nil {
			return err
		}
		if err := l.take(key, part, n, m, answers, data); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (l *loading) take(key run.Key, part, n, m int64, answers int, data []byte) (err error) {
	switch part {
	case headPart:
		l.found = true
		l.log.Head, err = decodeHead(key, data, n, m, answers)
	case recordPart:
		var r run.Record
		if err = decode(data, m, &r); err != nil {
			return fmt.Errorf("read record %d: %w", n, err)
		}
		if r.Seq != uint64(n) {
			return fmt.Errorf("%w: record %d is in the row of record %d", run.ErrCorrupt, r.Seq, n)
		}
		l.log.Records = append(l.log.Records, r)
	case answerPart:
		var a run.Answer
		if err = decode(data, m, &a); err != nil {
			return fmt.Errorf("read an answer: %w", err)
		}
		l.answers[a.Ask] = a
	}
	return err
}

// check puts what was read in order, and checks that it is whole.
func (l *loading) check() error {
	if !l.found {
		return run.ErrNotFound
	}
	slices.SortFunc(l.log.Records, func(a, b run.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	for i, r := range l.log.Records {
		if r.Seq != uint64(i+1) {
			return fmt.Errorf("%w: record %d stands where record %d should", run.ErrCorrupt, r.Seq, i+1)
		}
	}
	if n := uint64(len(l.log.Records)); n != l.log.Head.Seq {
		return fmt.Errorf("%w: it has %d records and should have %d", run.ErrCorrupt, n, l.log.Head.Seq)
	}
	for _, ask := range l.log.Head.Asks {
		if a, ok := l.answers[ask]; ok {
			l.log.Answers = append(l.log.Answers, a)
		}
	}
	return nil
}
