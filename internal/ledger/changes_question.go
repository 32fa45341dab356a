package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/replydata"
)

// Opened asks a person a question.
type Opened struct {
	Question run.Question `json:"ask"`

	Unknown jsontext.Value `json:",embed"`
}

func (c *Opened) apply(s *State, _ time.Time) error {
	q := c.Question
	switch {
	case q.ID == "" || !utf8.ValidString(q.ID):
		return errors.New("question has no id, or an id that is not text")
	case q.Kind == "":
		return fmt.Errorf("question %q has no kind", q.ID)
	}
	if err := s.markAsked(&q); err != nil {
		return err
	}
	s.Questions = append(s.Questions, &q) // callers may hold the shorter slice
	return nil
}

// Replied records the reply to a question and, once a sign-in is accepted, to the other questions about
// it. What the calls do then is recorded separately.
type Replied struct {
	Reply run.Reply `json:"answer"`

	// Value is the reply in the form that the server gets when its round continues.
	Value json.RawMessage `json:"value,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

func (c *Replied) apply(s *State, _ time.Time) error {
	q := s.Question(c.Reply.Question)
	if q == nil {
		return fmt.Errorf("there is no question %q", c.Reply.Question)
	}
	if q.Call != "" {
		call, err := s.call(q.Call)
		if err != nil {
			return err
		}
		c.storeReply(q, call)
	}
	s.drop(func(o *run.Question) bool { return o.ID == q.ID })
	if q.Kind == run.QuestionSignIn && q.Call != "" && c.Reply.Action == run.ActionAccept {
		c.replyToSignIns(q, s)
	}
	return nil
}

// replyToSignIns closes the other questions of this run about the same sign-in, and gives the reply to
// those of their calls that have none yet.
func (c *Replied) replyToSignIns(q *run.Question, s *State) {
	isSame := func(o *run.Question) bool {
		return o.Kind == run.QuestionSignIn && o.Call != "" && o.Server == q.Server && o.URL == q.URL
	}
	for _, o := range s.Questions {
		if !isSame(o) {
			continue
		}
		if call := s.Call(o.Call); call != nil && call.Reply == nil {
			c.storeReply(o, call)
		}
	}
	s.drop(isSame)
}

// storeReply gives the reply to the call that waits for it.
func (c *Replied) storeReply(q *run.Question, call *Call) {
	reply := c.Reply
	switch q.Kind {
	case run.QuestionApproval:
		call.At, call.Reply = CallProposed, &reply
	case run.QuestionDoubt, run.QuestionSignIn:
		call.Reply = &reply
	case run.QuestionSampling:
		if q.ServerKey != "" {
			call.Reviews = with(call.Reviews, q.ServerKey, NewReview(q, reply))
		}
	default:
		if q.ServerKey != "" {
			call.Replies = with(call.Replies, q.ServerKey, c.Value)
		}
	}
}

// NewReview returns the decision in a reply to a question about sampling.
func NewReview(q *run.Question, reply run.Reply) Review {
	r := Review{Reply: reply, Sampling: q.Sampling, Model: q.Model}
	if edited, err := replydata.SamplingParams(reply.Arguments); err == nil && edited != nil {
		r.Sampling = edited
	}
	return r
}

// askedFrom returns the states of a call in which a question about it may be asked.
func askedFrom(q *run.Question) []CallAt {
	switch {
	case q.Kind == run.QuestionApproval:
		return []CallAt{CallProposed}
	case q.Kind == run.QuestionDoubt:
		return []CallAt{CallSent, CallInRound, CallTasked, CallOfChild}
	case q.Kind == run.QuestionSignIn:
		return []CallAt{CallSent, CallInRound, CallTasked, CallAtSignIn}
	case q.Repeats:
		return []CallAt{CallSent, CallParked}
	case q.ServerKey != "":
		return []CallAt{CallInRound}
	}
	return []CallAt{CallProposed, CallReady, CallSent, CallInRound, CallTasked, CallOfChild}
}

// markAsked updates the call that a question is about. It is an error if the call is not in a state of
// askedFrom.
func (s *State) markAsked(q *run.Question) error {
	if q.Call == "" && q.ServerKey == "" && q.Kind != run.QuestionApproval && q.Kind != run.QuestionDoubt {
		return nil // the server does not say which call it is about
	}
	call, err := s.call(q.Call, askedFrom(q)...)
	if err != nil {
		return err
	}
	switch q.Kind {
	case run.QuestionApproval:
		call.At, call.Reply = CallAsked, nil
		if len(q.Arguments) > 0 {
			call.Args = q.Arguments // the person approves these arguments, so these are sent
		}
	case run.QuestionDoubt:
		call.At, call.Reply = CallInDoubt, nil
	case run.QuestionSignIn:
		call.At, call.Reply = CallAtSignIn, nil
	}
	if q.Repeats {
		call.At = CallParked
	}
	return nil
}

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
