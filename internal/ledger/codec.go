package ledger

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/runjson"
)

// These types have the fields of the types of this package, and no methods.
type (
	plainState    State
	plainDecision Decision
)

// codec encodes and decodes states and records.
var codec = runjson.New(append(run.JSONTypes(),
	runjson.Checked(func(s *State) *plainState { return (*plainState)(s) }, checkDepth),
	runjson.Plain(func(d *Decision) *plainDecision { return (*plainDecision)(d) }),
	runjson.Encoded(func(e *jsontext.Encoder, r *Entry) error { return r.write(e) }), // of sub-agents
)...)

// checkDepth refuses a state of a sub-agent that is nested too deeply.
func checkDepth(d *jsontext.Decoder) error {
	const level = 3 // the state, its calls, a call
	if d.StackDepth() > level*MaxDepth {
		return errTooDeep
	}
	return nil
}

// MarshalJSON implements [encoding/json.Marshaler]. Equal states have equal bytes.
func (s *State) MarshalJSON() ([]byte, error) { return codec.Marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler]. It refuses a version later than
// [Version], and a state that no sequence of records produces.
func (s *State) UnmarshalJSON(data []byte) error {
	var version struct {
		V int `json:"v"`
	}
	if err := runjson.Read(codec, "state", data, &version); err != nil {
		return err
	}
	if err := readable(version.V); err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	var read State
	if err := runjson.Read(codec, "state", data, &read); err != nil {
		return err
	}
	if err := read.check(map[string]bool{}); err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	*s = read
	return nil
}

// MarshalJSON implements [encoding/json.Marshaler].
func (d Decision) MarshalJSON() ([]byte, error) { return codec.Marshal(&d) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (d *Decision) UnmarshalJSON(data []byte) error {
	return runjson.Read(codec, "decision", data, d)
}
