package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Decided records the decision on a call. An [Outcome] follows a denial.
type Decided struct {
	Call     string          `json:"call"`
	Decision Decision        `json:"decision"`
	Args     json.RawMessage `json:"args,omitzero"` // arguments to send if the call is allowed

	Unknown jsontext.Value `json:",embed"`
}

func (c *Decided) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call, CallProposed, CallReady)
	if err != nil {
		return err
	}
	call.Approved = &c.Decision
	if c.Decision.Allow {
		call.At, call.Args, call.Edited = CallReady, c.Args, len(c.Decision.Arguments) > 0
	}
	return nil
}

// Intent records that a call is about to be sent, for the first time, again, or with the answers to
// its round. From then on it may have had an effect.
type Intent struct {
	Call string          `json:"call"`
	Args json.RawMessage `json:"args,omitzero"` // arguments that are sent; nil means unchanged

	Unknown jsontext.Value `json:",embed"`
}

func (c *Intent) apply(s *State, at time.Time) error {
	call, err := s.call(c.Call, CallProposed, CallReady, CallSent, CallInRound, CallInDoubt, CallAtSignIn, CallParked)
	if err != nil {
		return err
	}
	if err := s.mayStart(call); err != nil {
		return err
	}
	if s.isUnanswered(call) {
		return fmt.Errorf("a person is asked about call %q", c.Call)
	}
	call.Lost = call.At == CallSent || call.Lost && call.At != CallInDoubt // a person says that it did not run
	call.At, call.Tries, call.Sent = CallSent, call.Tries+1, at
	if c.Args != nil {
		call.Args = c.Args
	}
	return nil
}

// mayStart returns an error if a call may not be sent, and its sub-agent may not begin.
func (s *State) mayStart(call *Call) error {
	if s.Status != run.StatusRunning {
		return fmt.Errorf("run is %s", s.Status)
	}
	if call.Approved != nil && !call.Approved.Allow {
		return fmt.Errorf("call %q is denied", call.ID)
	}
	return nil
}

// isUnanswered reports whether a call waits for a person's reply before it is sent again.
func (s *State) isUnanswered(call *Call) bool {
	switch call.At {
	case CallInDoubt, CallAtSignIn:
		return call.Reply == nil
	case CallInRound, CallParked:
		return slices.ContainsFunc(s.Questions, func(q *run.Question) bool { return q.Call == call.ID && q.ServerKey != "" })
	}
	return false
}

// Paused records that the server needs input before it continues a call. Its questions follow as [Opened].
type Paused struct {
	Call    string                     `json:"call"`
	Round   json.RawMessage            `json:"round"`             // an mcp.InputRequired
	Replies map[string]json.RawMessage `json:"answers,omitempty"` // replies to questions that need no person

	Unknown jsontext.Value `json:",embed"`
}

func (c *Paused) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call, CallSent, CallInRound, CallTasked, CallAtSignIn)
	if err != nil {
		return err
	}
	if len(c.Round) == 0 {
		return fmt.Errorf("call %q waits for input with no round", c.Call)
	}
	call.At, call.Round, call.Replies, call.Reviews = CallInRound, c.Round, maps.Clone(c.Replies), nil
	return nil
}

// Detached records that the server runs a call as a task.
type Detached struct {
	Call string `json:"call"`
	Task Task   `json:"task"`

	Unknown jsontext.Value `json:",embed"`
}

func (c *Detached) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call, CallSent, CallInRound, CallTasked)
	if err != nil {
		return err
	}
	call.At, call.Task = CallTasked, &c.Task
	call.Round, call.Replies, call.Reviews = nil, nil, nil // of the call: a task has rounds of its own
	return nil
}

// Outcome records the result of a call, whether it succeeded or not.
type Outcome struct {
	Call   string   `json:"call"`
	Result run.Part `json:"result"`
	Stop   *string  `json:"stop,omitempty"` // the answer with which the run ends after this turn

	Unknown jsontext.Value `json:",embed"`
}

func (c *Outcome) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call)
	if err != nil {
		return err
	}
	if call.At == CallDone {
		return fmt.Errorf("call %q is done already", c.Call)
	}
	if c.Result.Type != run.PartResult || c.Result.ID != c.Call {
		return fmt.Errorf("call %q has a part %q of call %q as its result", c.Call, c.Result.Type, c.Result.ID)
	}
	call.At, call.Result, call.Stop = CallDone, &c.Result, c.Stop
	call.Round, call.Replies, call.Reviews, call.Task, call.Child = nil, nil, nil, nil, nil
	if k := c.Result.Kept; k != nil {
		s.Kept = append(s.Kept, k) // callers may hold the shorter slice
	}
	s.drop(func(q *run.Question) bool { return q.Call == c.Call })
	return nil
}

// Nested records a change of the run of the sub-agent that works on a call. Its first one begins that run.
type Nested struct {
	Call   string `json:"call"`
	Record Entry  `json:"record"`

	Unknown jsontext.Value `json:",embed"`
}

func (c *Nested) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call, CallProposed, CallReady, CallSent, CallOfChild)
	if err != nil {
		return err
	}
	if call.Child == nil {
		if err := s.mayStart(call); err != nil {
			return err
		}
		call.Child, call.At = new(State), CallOfChild
	}
	return Apply(call.Child, c.Record)
}

// call returns the call that a change is about, for the change to modify. It is an error if the call is in none
// of the states from; without from it may be in any.
func (s *State) call(id string, from ...CallAt) (*Call, error) {
	c := s.callToChange(id)
	switch {
	case c == nil:
		return nil, fmt.Errorf("there is no call %q", id)
	case len(from) > 0 && !slices.Contains(from, c.At):
		return nil, fmt.Errorf("call %q is %q, want one of %q", id, c.At, from)
	}
	return c, nil
}
