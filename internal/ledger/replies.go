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

// CheckOpen checks replies to the questions of a run whose last state is s, and returns those to open
// questions. Replies to other questions are left to the store, which knows the replies to closed
// questions. The error matches [run.ErrExpired] or [run.ErrUnfit].
func CheckOpen(s *State, replies []run.Reply, now time.Time) (open []run.Reply, err error) {
	for _, r := range replies {
		err := CheckReply(s, r, now)
		if errors.Is(err, run.ErrNotAsked) {
			continue
		}
		if err != nil {
			return nil, err
		}
		open = append(open, r)
	}
	return open, nil
}

// RepliesTo returns the replies to questions, in the order of the questions. replies has them by question.
func RepliesTo(questions []string, replies map[string]run.Reply) (out []run.Reply) {
	for _, id := range questions {
		if r, ok := replies[id]; ok {
			out = append(out, r)
		}
	}
	return out
}

// Dated returns a copy of replies in which those without a time have that of now.
func Dated(replies []run.Reply, now time.Time) []run.Reply {
	replies = slices.Clone(replies)
	for i := range replies {
		if replies[i].At.IsZero() {
			replies[i].At = now.UTC().Truncate(time.Millisecond)
		}
	}
	return replies
}
