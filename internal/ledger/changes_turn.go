package ledger

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/doubttext"
)

// Called records that the model is being called.
type Called struct {
	Reserved Amount `json:"reserved,omitempty"` // the most that it may use, if the run has such limits
	Final    string `json:"final,omitzero"`     // the limit that forces an answer without tools
	Lost     bool   `json:"lost,omitzero"`      // the reply to the previous call was lost, usually with its process
	Again    bool   `json:"again,omitzero"`     // the process of the previous call repeats it, without another ModelStart

	Unknown jsontext.Value `json:",embed"`
}

func (c *Called) apply(s *State, _ time.Time) error {
	if err := s.checkPhase(PhaseModel); err != nil {
		return err
	}
	if c.Reserved.isNegative() {
		return errors.New("reservation is negative")
	}
	if c.Lost && s.Model == nil {
		return errors.New("has lost the reply to a call that was not made")
	}
	attempt := 1
	if s.Model != nil {
		attempt = s.Model.Attempt + 1
	}
	s.Model = &Request{Attempt: attempt, Reserved: c.Reserved}
	s.Final = c.Final
	return nil
}

// Responded records the model's reply. If it has calls, the run executes them.
type Responded struct {
	Message run.Message `json:"message"`
	Calls   []Call      `json:"calls,omitempty"` // proposed
	Finish  string      `json:"finish,omitzero"` // the provider's reason for the end of the message
	Usage   run.Usage   `json:"usage,omitempty"`
	Repair  bool        `json:"repair,omitzero"` // a request for better output follows

	Endpoint string `json:"endpoint,omitzero"` // the API of the host that replied

	Size      int64 `json:"size,omitzero"`      // bytes of text of the call, if the run has limits of usage
	Estimated bool  `json:"estimated,omitzero"` // Usage is an estimate: the provider reported none

	Unknown jsontext.Value `json:",embed"`
}

func (c *Responded) apply(s *State, _ time.Time) error {
	if err := s.checkPhase(PhaseModel); err != nil {
		return err
	}
	if s.Model == nil {
		return errors.New("model was not called")
	}
	if c.Size < 0 {
		return errors.New("the call has less than no bytes")
	}
	if err := checkCalls(c.Calls); err != nil {
		return err
	}
	if c.Repair {
		s.Repairs++
	}
	s.Model, s.Finish = nil, c.Finish
	if s.Endpoint == "" {
		s.Endpoint = c.Endpoint
	}
	s.History = append(s.History, c.Message)
	s.Last = LastCall{}
	if u := c.Usage; u.Input > 0 || u.Output > 0 {
		s.Last = LastCall{
			Input:     u.Input,
			Output:    u.Output,
			Reasoning: u.Reasoning,
			Estimated: c.Estimated,
			Size:      c.Size,
			Messages:  len(s.History),
		}
	}
	s.Output = c.Message.Text()
	s.Calls = make([]*Call, len(c.Calls))
	calls := slices.Clone(c.Calls)
	for i := range calls {
		s.Calls[i] = &calls[i]
	}
	if len(s.Calls) > 0 {
		s.Phase = PhaseCalls
	}
	return nil
}

func checkCalls(calls []Call) error {
	known := make(map[string]bool, len(calls))
	for i := range calls {
		c := &calls[i]
		switch {
		case c.ID == "" || !utf8.ValidString(c.ID):
			return fmt.Errorf("call %d has no id, or an id that is not text", i+1)
		case known[c.ID]:
			return fmt.Errorf("two calls have the id %q", c.ID)
		case c.At != CallProposed || c.Child != nil || c.Result != nil:
			return fmt.Errorf("call %q is %q and not proposed", c.ID, c.At)
		}
		known[c.ID] = true
	}
	return nil
}

// checkPhase returns an error unless the run is running in that phase.
func (s *State) checkPhase(p Phase) error {
	if s.Status != run.StatusRunning || s.Phase != p {
		return fmt.Errorf("run is %s, in phase %q", s.Status, s.Phase)
	}
	return nil
}

// TurnEnded moves the results of the calls into the history.
type TurnEnded struct {
	Unknown jsontext.Value `json:",embed"`
}

func (c *TurnEnded) apply(s *State, at time.Time) error {
	if s.Phase != PhaseCalls {
		return fmt.Errorf("run is in phase %q", s.Phase)
	}
	for _, call := range s.Calls {
		if call.At != CallDone || call.Result == nil {
			return fmt.Errorf("call %q is %s and not done", call.ID, call.At)
		}
	}
	m := s.results(at)
	s.History = append(s.History, m)
	s.Failures++
	for _, part := range m.Parts {
		if !part.IsError {
			s.Failures = 0
		}
	}
	s.Status, s.Phase, s.Wake = run.StatusRunning, PhaseModel, time.Time{}
	s.Calls, s.Questions = nil, nil
	s.Turn++
	return nil
}

// results returns the message with the results of a turn. A call without one had none when the run ended:
// each call in the history has a result.
func (s *State) results(at time.Time) run.Message {
	m := run.Message{Role: run.RoleTool, At: at, Parts: make([]run.Part, len(s.Calls))}
	for i, c := range s.Calls {
		if c.Result != nil {
			m.Parts[i] = *c.Result
			continue
		}
		text := "The run ended before the call was made."
		switch {
		case c.Child != nil:
			text = "The run ended before the agent had an answer. It " + doubttext.PartlyDone + "."
		case c.Tries > 0:
			text = "The run ended before the call had a result. It " + doubttext.MayHaveRun + "."
		}
		m.Parts[i] = run.Part{Type: run.PartResult, ID: c.ID, Name: s.CalledAs(c.ID, c.Name), Text: text, IsError: true}
	}
	return m
}

// Compacted replaces the oldest messages.
type Compacted struct {
	Replaced int           `json:"replaced"` // number of messages
	Messages []run.Message `json:"messages"`
	Usage    run.Usage     `json:"usage,omitempty"` // usage of the model that summarised them

	Unknown jsontext.Value `json:",embed"`
}

func (c *Compacted) apply(s *State, _ time.Time) error {
	if s.Phase == PhaseCalls {
		return errors.New("calls of the last message have no results yet")
	}
	if c.Replaced < 0 || c.Replaced > len(s.History) {
		return fmt.Errorf("%d messages are replaced, and there are %d", c.Replaced, len(s.History))
	}
	s.Archived += c.Replaced
	s.Last.Messages = 0
	s.History = append(slices.Clone(c.Messages), s.History[c.Replaced:]...)
	return nil
}
