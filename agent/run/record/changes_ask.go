package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Opened asks a person something.
type Opened struct {
	Ask run.Ask `json:"ask"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Opened) kind() string { return "opened" }

func (c *Opened) apply(s *State, _ time.Time) error {
	q := c.Ask
	if q.ID == "" || !utf8.ValidString(q.ID) || q.Kind == "" {
		return errors.New("the question has no id, an id that is not text, or no kind")
	}
	if err := s.asks(&q); err != nil {
		return err
	}
	s.Asks = append(s.Asks, &q) // a shorter slice of it may be in other hands
	return nil
}

// Answered is the answer to a question. What follows of it comes in further records.
type Answered struct {
	Answer run.Answer `json:"answer"`

	// Value is the answer as the server gets it, by which a round continues.
	Value json.RawMessage `json:"value,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Answered) kind() string { return "answered" }

func (c *Answered) apply(s *State, _ time.Time) error {
	q := s.Ask(c.Answer.Ask)
	if q == nil {
		return fmt.Errorf("there is no question %q", c.Answer.Ask)
	}
	if q.Call != "" {
		call, err := s.call(q.Call)
		if err != nil {
			return err
		}
		c.settle(q, call)
	}
	s.drop(func(o *run.Ask) bool { return o.ID == q.ID })
	if q.Kind == run.AskSignIn && q.Call != "" && c.Answer.Action == run.ActionAccept {
		c.signedIn(q, s)
	}
	return nil
}

// signedIn settles the other calls that wait for the same sign-in and have no answer.
func (c *Answered) signedIn(q *run.Ask, s *State) {
	same := func(o *run.Ask) bool {
		return o.Kind == run.AskSignIn && o.Call != "" && o.Server == q.Server && o.URL == q.URL
	}
	for _, o := range s.Asks {
		if call := s.Call(o.Call); same(o) && call != nil && call.Answer == nil {
			c.settle(o, call)
		}
	}
	s.drop(same)
}

// settle brings the answer to the call that waits for it.
func (c *Answered) settle(q *run.Ask, call *Call) {
	answer := c.Answer
	switch q.Kind {
	case run.AskApproval:
		call.At, call.Answer = CallProposed, &answer
	case run.AskDoubt, run.AskSignIn:
		call.Answer = &answer
	case run.AskSampling:
		if q.Key != "" {
			call.review(q, answer)
		}
	default:
		if q.Key != "" {
			call.answer(q.Key, c.Value)
		}
	}
}

// asks moves the call that a question is about.
func (s *State) asks(q *run.Ask) error {
	var from []CallAt
	switch {
	case q.Call == "" && q.Key == "" && q.Kind != run.AskApproval && q.Kind != run.AskDoubt:
		return nil
	case q.Kind == run.AskApproval:
		from = []CallAt{CallProposed}
	case q.Kind == run.AskDoubt:
		from = []CallAt{CallSent, CallInRound, CallTasked, CallOfChild}
	case q.Kind == run.AskSignIn:
		from = []CallAt{CallSent, CallInRound, CallTasked, CallAtSignIn}
	case q.Parked:
		from = []CallAt{CallSent, CallParked}
	case q.Key != "":
		from = []CallAt{CallInRound}
	default:
		from = []CallAt{CallProposed, CallReady, CallSent, CallInRound, CallTasked, CallOfChild}
	}
	call, err := s.call(q.Call, from...)
	if err != nil {
		return err
	}
	switch q.Kind {
	case run.AskApproval:
		call.At, call.Answer = CallAsked, nil
		if len(q.Arguments) > 0 {
			call.Args = q.Arguments // what is approved is what runs
		}
	case run.AskDoubt:
		call.At, call.Answer = CallInDoubt, nil
	case run.AskSignIn:
		call.At, call.Answer = CallAtSignIn, nil
	}
	if q.Parked {
		call.At = CallParked
	}
	return nil
}
