package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Version is the version of the JSON of states and records. A reader takes every
// version up to its own.
const Version = 1

// MaxDepth is how deep sub-agents may be nested in a run.
const MaxDepth = 32

// Phase says what a running run does next.
type Phase string

// A turn is one call of the model and the tool calls that it asks for.
const (
	PhaseModel Phase = "model"
	PhaseCalls Phase = "calls"
)

// State is a run: the fold of its records, with which it shares data. Change it by records only,
// see [Apply]. Any number of goroutines may read it while none applies a record.
type State struct {
	V        int       `json:"v"`
	ID       string    `json:"id"`
	Tenant   string    `json:"tenant,omitzero"`
	Agent    AgentName `json:"agent,omitzero"`
	Seq      uint64    `json:"seq"`               // of the last record
	Snapshot uint64    `json:"snapshot,omitzero"` // record with the last snapshot; 0: there is none
	Created  time.Time `json:"created,omitzero"`
	Updated  time.Time `json:"updated,omitzero"`

	Status run.Status `json:"status"`
	Phase  Phase      `json:"phase,omitzero"`
	Turn   int        `json:"turn,omitzero"`  // from 1 with each input
	Wake   time.Time  `json:"wake,omitzero"`  // when a waiting run continues without an answer
	Final  string     `json:"final,omitzero"` // the limit for which the model has to answer without tools

	History   []run.Message     `json:"history,omitempty"`
	Archived  int               `json:"archived,omitzero"`  // messages that compaction has replaced
	Model     *Request          `json:"model,omitempty"`    // the model call under way
	Last      LastCall          `json:"last,omitempty"`     // the model call before it
	Sampling  map[string]Amount `json:"sampling,omitempty"` // reserved for completions under way that servers have asked for, by a key
	Calls     []*Call           `json:"calls,omitempty"`    // of the present turn
	Questions []*run.Question   `json:"asks,omitempty"`     // open questions

	Discovery Discovery     `json:"discovery,omitzero"` // how the model gets at the tools
	Directory string        `json:"directory,omitzero"` // what it is told of them, with Discovery
	Offered   []OfferedTool `json:"offered,omitempty"`  // tools that were added to those that it is offered, in their order

	Limits   run.Limits `json:"limits,omitempty"`
	Spent    run.Spent  `json:"spent,omitempty"`   // by the run, all inputs together
	Before   run.Spent  `json:"before,omitempty"`  // of Spent, by earlier inputs
	Failures int        `json:"failures,omitzero"` // turns in a row in which every call failed
	Repairs  int        `json:"repairs,omitzero"`  // of the structured output

	// Kept are the results that are kept beside the records, in the order in which they came.
	Kept []*run.Kept `json:"kept,omitempty"`

	Schema     json.RawMessage `json:"schema,omitzero"` // of the structured output that is asked for
	Output     string          `json:"answer,omitzero"` // the text of the last message
	Structured json.RawMessage `json:"output,omitzero"`
	Stop       string          `json:"stop,omitzero"`   // why the run ended, see agent.StopReason
	Finish     string          `json:"finish,omitzero"` // the provider's word for why its last message ended
	Error      string          `json:"error,omitzero"`  // of a failed run

	// Endpoint is the API of the model's host that gave the first reply that names one. The run continues there:
	// what the model thought is in the form of that API.
	Endpoint string `json:"endpoint,omitzero"`

	// Takeovers counts the processes in a row that have taken the run up and ended without progress: a
	// reply, an outcome, an answer.
	Takeovers int `json:"takeovers,omitzero"`

	Vars  map[string]json.RawMessage `json:"vars,omitempty"`  // of the host's hooks
	Trace map[string]string          `json:"trace,omitempty"` // context of the last span, for a link

	Unknown jsontext.Value `json:",embed"` // members of a later version

	last int // place in Calls of the call that a change was about last
}

// AgentName says which agent a run belongs to.
type AgentName struct {
	Name string `json:"name,omitzero"`
	Rev  string `json:"rev,omitzero"` // of its instructions

	Unknown jsontext.Value `json:",embed"`
}

// Request is a model call under way.
type Request struct {
	Attempt  int    `json:"attempt"`            // from 1; each reply that was lost adds one
	Reserved Amount `json:"reserved,omitempty"` // what it may take, if the run has limits for that

	Unknown jsontext.Value `json:",embed"`
}

// LastCall is the last model call whose tokens are known. The size of the next one is told by
// it, for limits and for compaction.
type LastCall struct {
	Input     int64 `json:"input,omitzero"` // tokens
	Output    int64 `json:"output,omitzero"`
	Reasoning int64 `json:"reasoning,omitzero"` // of Output
	Estimated bool  `json:"estimated,omitzero"` // the provider has not counted them

	Size     int64 `json:"size,omitzero"`     // of the call as bytes of text; 0: unknown
	Messages int   `json:"messages,omitzero"` // of History up to the reply, whose Model made it; 0: a compaction has replaced some

	Unknown jsontext.Value `json:",embed"`
}

// Tokens is what the call took.
func (c LastCall) Tokens() int64 {
	return Amount{Tokens: c.Input}.plus(Amount{Tokens: c.Output}).Tokens
}

func (c LastCall) negative() bool {
	return min(c.Input, c.Output, c.Reasoning, c.Size, int64(c.Messages)) < 0
}

// Call returns the call of the present turn with that id, nil if there is none.
func (s *State) Call(id string) *Call {
	for _, c := range s.Calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// change is Call for changes: the next one is often about the same call, or about the next.
func (s *State) change(id string) *Call {
	for i := s.last; i < len(s.Calls) && i <= s.last+1; i++ {
		if s.Calls[i].ID == id {
			s.last = i
			return s.Calls[i]
		}
	}
	for i, c := range s.Calls {
		if c.ID == id {
			s.last = i
			return c
		}
	}
	return nil
}

// Question returns the open question with that id, nil if there is none.
func (s *State) Question(id string) *run.Question {
	for _, q := range s.Questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// find finds an open question of the run or a sub-agent, and the run that asks it.
func (s *State) find(id string) (*run.Question, *State) {
	if q := s.Question(id); q != nil {
		return q, s
	}
	for _, c := range s.Calls {
		if c.Child != nil {
			if q, of := c.Child.find(id); q != nil {
				return q, of
			}
		}
	}
	return nil, nil
}

// readable reports whether this version can read v.
func readable(v int) error {
	switch {
	case v < 1:
		return fmt.Errorf("it has no version; is it the state of a run?")
	case v > Version:
		return fmt.Errorf("it has version %d, and this program reads versions up to %d; use a newer program", v, Version)
	}
	return nil
}

// results makes the message of the results of the present turn.
func (s *State) results(at time.Time) (run.Message, error) {
	m := run.Message{Role: run.RoleTool, At: at, Parts: make([]run.Part, len(s.Calls))}
	for i, c := range s.Calls {
		if c.At != CallDone || c.Result == nil {
			return run.Message{}, fmt.Errorf("call %q is %s and not done", c.ID, c.At)
		}
		m.Parts[i] = *c.Result
	}
	return m, nil
}

// drop removes the open questions that match. The slice may be in other hands.
func (s *State) drop(match func(*run.Question) bool) {
	if slices.ContainsFunc(s.Questions, match) {
		s.Questions = slices.DeleteFunc(slices.Clone(s.Questions), match)
	}
}

// leftovers makes the message of the results of a turn that is not brought to its end,
// so that each call of the history has a result.
func (s *State) leftovers(at time.Time) run.Message {
	m := run.Message{Role: run.RoleTool, At: at, Parts: make([]run.Part, len(s.Calls))}
	for i, c := range s.Calls {
		text := "The run ended before the call was made."
		if c.Tries > 0 {
			text = "The run ended before the call had a result. It may or may not have run."
		}
		m.Parts[i] = run.Part{Type: run.PartResult, ID: c.ID, Name: s.CalledAs(c.ID, c.Name), Text: text, IsError: true}
		if c.Result != nil {
			m.Parts[i] = *c.Result
		}
	}
	return m
}

// check refuses a state that no records make. ids are the questions of the runs above.
func (s *State) check(ids map[string]bool) error {
	switch {
	case s.Status != run.StatusRunning && s.Status != run.StatusWaiting && !s.Status.Ended():
		return fmt.Errorf("run %q has the status %q", s.ID, s.Status)
	case spendsLess(s.Spent) || spendsLess(s.Before) || s.Last.negative() || min(s.Turn, s.Archived, s.Failures, s.Repairs) < 0:
		return fmt.Errorf("run %q has a count below 0", s.ID)
	case s.Model != nil && s.Model.Reserved.negative():
		return fmt.Errorf("run %q reserves less than nothing", s.ID)
	}
	for _, a := range s.Sampling {
		if a.negative() {
			return fmt.Errorf("run %q reserves less than nothing", s.ID)
		}
	}
	for _, q := range s.Questions {
		if q == nil || q.ID == "" || ids[q.ID] {
			return fmt.Errorf("run %q has a question without an id of its own", s.ID)
		}
		ids[q.ID] = true
	}
	names := make(map[string]bool, len(s.Offered))
	for i := range s.Offered {
		t := &s.Offered[i]
		if t.Tool == "" || t.Name == "" || names[t.Name] {
			return fmt.Errorf("run %q has an offered tool without a name of its own", s.ID)
		}
		names[t.Name] = true
	}
	calls := map[string]bool{}
	for _, c := range s.Calls {
		if c == nil || c.ID == "" || calls[c.ID] || c.At == CallDone && c.Result == nil {
			return fmt.Errorf("run %q has a call without an id of its own, or one that is done without a result", s.ID)
		}
		calls[c.ID] = true
		if c.Child != nil {
			if err := c.Child.check(ids); err != nil {
				return err
			}
		}
	}
	return nil
}
