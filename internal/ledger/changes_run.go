package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Begun is the first change of a run.
type Begun struct {
	V        int                        `json:"v"`
	ID       string                     `json:"id"`
	Tenant   string                     `json:"tenant,omitzero"`
	Agent    AgentName                  `json:"agent,omitzero"`
	Messages []run.Message              `json:"messages,omitempty"`
	Limits   run.Limits                 `json:"limits,omitempty"`
	Vars     map[string]json.RawMessage `json:"vars,omitempty"`
	Schema   json.RawMessage            `json:"schema,omitzero"` // schema of the structured output, if one is wanted

	Unknown jsontext.Value `json:",embed"`
}

func (c *Begun) apply(s *State, at time.Time) error {
	if err := checkVersion(c.V); err != nil {
		return err
	}
	*s = State{
		V:       c.V,
		ID:      c.ID,
		Tenant:  c.Tenant,
		Agent:   c.Agent,
		Created: at,
		Status:  run.StatusRunning,
		Phase:   PhaseModel,
		Turn:    1,
		History: slices.Clip(c.Messages),
		Limits:  c.Limits,
		Vars:    c.Vars,
		Schema:  c.Schema,
	}
	return nil
}

// Said adds an input to a run that has ended, and starts it again.
type Said struct {
	Messages []run.Message   `json:"messages"`
	Limits   run.Limits      `json:"limits,omitempty"`
	Schema   json.RawMessage `json:"schema,omitzero"` // schema of the structured output, if one is wanted

	Unknown jsontext.Value `json:",embed"`
}

func (c *Said) apply(s *State, _ time.Time) error {
	if !s.Status.Ended() {
		return fmt.Errorf("run is %s; an input goes to one that has ended", s.Status)
	}
	s.History = append(s.History, c.Messages...)
	s.Status, s.Phase, s.Turn = run.StatusRunning, PhaseModel, 1
	s.Limits, s.Schema = c.Limits, c.Schema
	s.Before, s.Failures, s.Repairs = s.Spent, 0, 0
	s.Output, s.Structured = "", nil
	s.Final, s.Stop, s.Finish, s.Error = "", "", "", ""
	return nil
}

// Suspended records that the run waits, for replies or until a given time.
type Suspended struct {
	Wake time.Time `json:"wake,omitzero"` // zero: only a reply continues it

	Unknown jsontext.Value `json:",embed"`
}

func (c *Suspended) apply(s *State, _ time.Time) error {
	s.Status, s.Wake = run.StatusWaiting, c.Wake
	return nil
}

// Woken records that a waiting run continues.
type Woken struct {
	Unknown jsontext.Value `json:",embed"`
}

func (c *Woken) apply(s *State, _ time.Time) error {
	if s.Status != run.StatusWaiting {
		return fmt.Errorf("run is %s", s.Status)
	}
	s.Status, s.Wake = run.StatusRunning, time.Time{}
	return nil
}

// Ended records that the run has ended. The Output of a run that failed or was cancelled is what the
// model had written of a reply that was broken off.
type Ended struct {
	Status     run.Status      `json:"status"`
	Stop       string          `json:"stop,omitzero"`
	Output     string          `json:"answer,omitzero"`
	Structured json.RawMessage `json:"output,omitzero"`
	Error      string          `json:"error,omitzero"`
	ModelError int             `json:"model_error,omitzero"` // the model.ErrorKind of the model call that failed

	Unknown jsontext.Value `json:",embed"`
}

func (c *Ended) apply(s *State, at time.Time) error {
	if !c.Status.Ended() {
		return fmt.Errorf("%q is not the status of a run that has ended", c.Status)
	}
	if s.Phase == PhaseCalls {
		s.History = append(s.History, s.results(at))
	}
	s.Phase, s.Status, s.Wake = "", c.Status, time.Time{}
	s.Stop, s.Error = c.Stop, c.Error
	s.Output, s.Structured = c.Output, c.Structured
	s.Model, s.Sampling, s.Calls, s.Questions = nil, nil, nil, nil
	return nil
}

// Cancellation returns the change that ends a run as cancelled.
func Cancellation() *Ended { return &Ended{Status: run.StatusCancelled, Error: "run was cancelled"} }

// Noted keeps data of the host: variables of its hooks, and the context of a trace. Taken marks
// that a process took over a run whose holder had died. Snapshot has the whole state before the
// record, see [SnapshotDue].
type Noted struct {
	Vars  map[string]json.RawMessage `json:"vars,omitempty"` // null removes a variable
	Trace map[string]string          `json:"trace,omitempty"`
	Taken bool                       `json:"taken,omitzero"`

	Snapshot json.RawMessage `json:"snapshot,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

func (c *Noted) apply(s *State, _ time.Time) error {
	if len(c.Vars) > 0 {
		s.Vars = withVars(s.Vars, c.Vars)
	}
	if c.Trace != nil {
		s.Trace = c.Trace
	}
	if c.Taken {
		s.Takeovers++
	}
	return nil
}

// withVars returns a copy of vars with changes. null removes a variable.
func withVars(vars, changes map[string]json.RawMessage) map[string]json.RawMessage {
	vars = maps.Clone(vars)
	if vars == nil {
		vars = map[string]json.RawMessage{}
	}
	for name, value := range changes {
		if len(value) == 0 || string(value) == "null" {
			delete(vars, name)
		} else {
			vars[name] = value
		}
	}
	return vars
}

// Sealed is an encrypted change. A store with the keys decrypts it.
type Sealed struct {
	Box []byte `json:"box"`
}

func (*Sealed) apply(*State, time.Time) error {
	return errors.New("record is sealed: load the run from a sealed store, with its keys")
}
