package agent

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// State is a run as it is at a moment. A hook reads it, and [Agent.ResumeState] continues a run by it. As JSON it goes to
// another process; it has secrets of others, such as the request states and task ids of servers, which [record.Keys] seal.
type State struct{ of *ledger.State }

// Key is the name of the run.
func (s *State) Key() run.Key {
	in := s.inner()
	return run.Key{Tenant: in.Tenant, ID: in.ID}
}

// Turn is the number of the present turn, from 1 with each input.
func (s *State) Turn() int { return s.inner().Turn }

// Failures counts the last turns in a row in which every call failed.
func (s *State) Failures() int { return s.inner().Failures }

// Spent is what the run has used, all inputs together.
func (s *State) Spent() run.Spent { return s.inner().Spent }

// Vars are the variables of the run, see [WithVar]. The map is the caller's.
func (s *State) Vars() map[string]json.RawMessage { return maps.Clone(s.inner().Vars) }

// History is what was said, the present turn included. Do not change the messages.
func (s *State) History() []run.Message { return slices.Clip(s.inner().History) }

// MarshalJSON implements [json.Marshaler]. Equal states have equal bytes.
func (s *State) MarshalJSON() ([]byte, error) { return s.inner().MarshalJSON() }

// UnmarshalJSON implements [json.Unmarshaler]. It refuses the state of a later version, and one that no run has.
func (s *State) UnmarshalJSON(data []byte) error {
	in := new(ledger.State)
	if err := in.UnmarshalJSON(data); err != nil {
		return err
	}
	s.of = in
	return nil
}

// inner is what the state has in it, nothing for a state that is nil or zero.
func (s *State) inner() *ledger.State {
	if s == nil || s.of == nil {
		return new(ledger.State)
	}
	return s.of
}
