package sqlstore

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Answer implements [run.Store].
func (s *Store) Answer(ctx context.Context, key run.Key, answers []run.Answer) error {
	err := s.writing(ctx, func(ctx context.Context, t *tx) error { return t.answer(ctx, key, answers) })
	if err != nil {
		return fmt.Errorf("answer run %q: %w", key.ID, err)
	}
	return nil
}

func (t *tx) answer(ctx context.Context, key run.Key, answers []run.Answer) error {
	var num, epoch, held int64
	var count int
	var data []byte
	tenant, id := names(key)
	err := one(ctx, t, `SELECT num, epoch, held, answers, head FROM mcpchain_runs WHERE tenant = ? AND id = ?`+t.d.lock,
		[]any{tenant, id}, &num, &epoch, &held, &count, &data)
	if isNone(err) {
		return refuse(run.ErrNotFound)
	}
	if err != nil {
		return err
	}
	head, err := decodeHead(key, data, epoch, held, count)
	if err != nil {
		return refuse(err)
	}
	stored, err := t.answers(ctx, num)
	if err != nil {
		return err
	}
	fresh, err := run.CheckAnswers(head, stored, answers)
	if err != nil || len(fresh) == 0 {
		return wrapRefusal(err)
	}
	items, err := encodeAnswers(fresh)
	if err != nil {
		return refuse(err)
	}
	if err := t.insert(ctx, insertAnswers, num, items); err != nil {
		return err
	}
	head.Answers += len(fresh)
	_, err = t.exec(ctx, updateAnswers, head.Answers, due(head), num)
	return err
}

func wrapRefusal(err error) error {
	if err == nil {
		return nil
	}
	return refuse(err)
}

// answers reads all answers to a run, by question.
func (t *tx) answers(ctx context.Context, num int64) (map[string]run.Answer, error) {
	rows, err := t.QueryContext(ctx, `SELECT ask, sum, data FROM mcpchain_answers WHERE run = ?`, num)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	answers := map[string]run.Answer{}
	for rows.Next() {
		var ask string
		var sum int64
		var data []byte
		if err := rows.Scan(&ask, &sum, &data); err != nil {
			return nil, err
		}
		var a run.Answer
		if err := decode(data, sum, &a); err != nil {
			return nil, refuse(fmt.Errorf("read the answer to question %q: %w", ask, err))
		}
		answers[ask] = a
	}
	return answers, rows.Err()
}
