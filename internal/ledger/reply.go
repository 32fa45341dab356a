package ledger

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// CheckReply checks a reply to a question of a run or its sub-agents. The error matches
// [run.ErrNotAsked] if the question is not open; see [run.CheckReply] for other errors.
func CheckReply(s *State, r run.Reply, now time.Time) error {
	q := s.findQuestion(r.Question)
	if q == nil {
		return fmt.Errorf("answer question %.100q of run %q: %w", r.Question, s.ID, run.ErrNotAsked)
	}
	return run.CheckReply(q, r, now)
}

// CheckOpen checks replies to the questions of a run whose last state is s. It returns those to open questions, with the
// present time where a reply has none. Replies to other questions are left to the store, which knows the replies to closed
// questions. The error matches [run.ErrExpired] or [run.ErrUnfit].
func CheckOpen(s *State, replies []run.Reply) (open []run.Reply, err error) {
	now := time.Now()
	for _, r := range Dated(replies) {
		switch err := CheckReply(s, r, now); {
		case err == nil:
			open = append(open, r)
		case !errors.Is(err, run.ErrNotAsked):
			return nil, err
		}
	}
	return open, nil
}

// Dated returns a copy of replies in which those without a time have the present one.
func Dated(replies []run.Reply) []run.Reply {
	replies = slices.Clone(replies)
	for i := range replies {
		if replies[i].At.IsZero() {
			replies[i].At = time.Now().UTC().Truncate(time.Millisecond)
		}
	}
	return replies
}
