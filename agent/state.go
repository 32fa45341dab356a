package agent

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// State is the state of a run. Hooks read it, and [Agent.ResumeStateEvents] continues a run from it. It
// can be sent to another process as JSON. It contains secrets of servers, such as request states and
// task ids: encrypt the JSON with [record.Keys.Seal] before it leaves the process.
type State struct {
	mu    *sync.Mutex // guards state while calls of its run change it; nil if nothing does
	state *ledger.State
}

// Key returns the key of the run.
func (s *State) Key() run.Key {
	return readState(s, func(in *ledger.State) run.Key { return run.Key{Tenant: in.Tenant, ID: in.ID} })
}

// Failures returns the number of consecutive turns in which every call failed.
func (s *State) Failures() int {
	return readState(s, func(in *ledger.State) int { return in.Failures })
}

// Usage returns the usage of the run, by all inputs.
func (s *State) Usage() run.Usage {
	return readState(s, func(in *ledger.State) run.Usage { return in.Spent })
}

// Vars returns a copy of the run's variables ([WithVar]).
func (s *State) Vars() map[string]json.RawMessage {
	return readState(s, func(in *ledger.State) map[string]json.RawMessage { return maps.Clone(in.Vars) })
}

// History returns the messages, including those of the current turn. Do not modify them.
func (s *State) History() []run.Message {
	return readState(s, func(in *ledger.State) []run.Message { return slices.Clip(in.History) })
}

// MarshalJSON implements [json.Marshaler]. Equal states have equal bytes.
func (s *State) MarshalJSON() (data []byte, err error) {
	err = readState(s, func(in *ledger.State) (err error) { data, err = in.MarshalJSON(); return err })
	return data, err
}

// UnmarshalJSON implements [json.Unmarshaler]. It refuses a state of a later version, and one
// that no run can have.
func (s *State) UnmarshalJSON(data []byte) error {
	in := new(ledger.State)
	if err := in.UnmarshalJSON(data); err != nil {
		return err
	}
	*s = State{state: in}
	return nil
}

// readState returns what get returns for the state, an empty one if s is nil or zero.
func readState[T any](s *State, get func(*ledger.State) T) T {
	if s == nil || s.state == nil {
		return get(new(ledger.State))
	}
	if s.mu != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	return get(s.state)
}

// inner returns the state of a run that nothing changes, an empty one if s is nil or zero.
func (s *State) inner() *ledger.State {
	return readState(s, func(in *ledger.State) *ledger.State { return in })
}
