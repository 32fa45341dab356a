package agent

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// State is the state of a run at one moment. Hooks read it, and [Agent.ResumeStateEvents] continues
// a run from it. It can be sent to another process as JSON. It contains secrets of servers, such as
// request states and task ids: encrypt the JSON with [record.Keys.Seal] before it leaves the
// process.
type State struct{ state *ledger.State }

// Key returns the key of the run.
func (s *State) Key() run.Key {
	in := s.inner()
	return run.Key{Tenant: in.Tenant, ID: in.ID}
}

// Turn returns the number of the current turn, which starts at 1 with each input.
func (s *State) Turn() int { return s.inner().Turn }

// Failures returns the number of consecutive turns in which every call failed.
func (s *State) Failures() int { return s.inner().Failures }

// Usage returns the usage of the run, by all inputs.
func (s *State) Usage() run.Usage { return s.inner().Spent }

// Vars returns a copy of the run's variables ([WithVar]).
func (s *State) Vars() map[string]json.RawMessage { return maps.Clone(s.inner().Vars) }

// History returns the messages, including those of the current turn. Do not modify them.
func (s *State) History() []run.Message { return slices.Clip(s.inner().History) }

// MarshalJSON implements [json.Marshaler]. Equal states have equal bytes.
func (s *State) MarshalJSON() ([]byte, error) { return s.inner().MarshalJSON() }

// UnmarshalJSON implements [json.Unmarshaler]. It refuses a state of a later version, and one
// that no run can have.
func (s *State) UnmarshalJSON(data []byte) error {
	in := new(ledger.State)
	if err := in.UnmarshalJSON(data); err != nil {
		return err
	}
	s.state = in
	return nil
}

// inner returns the wrapped state, an empty one if s is nil or zero.
func (s *State) inner() *ledger.State {
	if s == nil || s.state == nil {
		return new(ledger.State)
	}
	return s.state
}
