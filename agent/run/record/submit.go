package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Open returns the open questions of a run and its sub-agents. They are the state's own: do not change them.
func Open(s *State) []*run.Question {
	asks := slices.Clone(s.Questions)
	for _, c := range s.Calls {
		if c.Child != nil {
			asks = append(asks, Open(c.Child)...)
		}
	}
	return asks
}

// CheckReply checks an answer to a question of a run or its sub-agents, before
// [Store.Reply] keeps it. The error matches [ErrNotAsked] if the question is not open;
// see [Check] for others.
func CheckReply(s *State, a run.Reply, now time.Time) error {
	q, _ := s.find(a.Question)
	if q == nil {
		return fmt.Errorf("answer question %.100q of run %q: %w", a.Question, s.ID, run.ErrNotAsked)
	}
	return run.Check(q, a, now)
}

// Submit checks answers by their questions and has the store keep them: whoever holds the run
// takes them, or who takes it up. Answers without a time get the present one. The errors are those of
// [Check], [Store].Load and [Store].Reply. With an error of this package no answer is kept; after
// another one load the run.
func Submit(ctx context.Context, store Store, key run.Key, answers ...run.Reply) error {
	if len(answers) == 0 {
		return nil
	}
	log, err := LoadCurrent(ctx, store, key)
	if err != nil {
		return err
	}
	s, err := StateOf(log.Records)
	if err != nil {
		return fmt.Errorf("load run %q: %w", key.ID, err)
	}
	if _, err := CheckOpen(s, answers); err != nil {
		return err
	}
	return store.Reply(ctx, key, dated(answers))
}

// CheckOpen checks answers by the questions of a run whose last state is s, and returns the ones
// to open questions, with the present time if they have none. Answers to other questions are left to the
// store, which knows the answers to questions that are closed. The error matches [ErrExpired] or [ErrUnfit].
func CheckOpen(s *State, answers []run.Reply) (open []run.Reply, err error) {
	now := time.Now()
	for _, a := range dated(answers) {
		switch err := CheckReply(s, a, now); {
		case err == nil:
			open = append(open, a)
		case !errors.Is(err, run.ErrNotAsked):
			return nil, err
		}
	}
	return open, nil
}

// dated gives answers without a time the present one.
func dated(answers []run.Reply) []run.Reply {
	answers = slices.Clone(answers)
	for i := range answers {
		if answers[i].At.IsZero() {
			answers[i].At = time.Now().UTC().Truncate(time.Millisecond)
		}
	}
	return answers
}
