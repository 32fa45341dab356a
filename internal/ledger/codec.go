package ledger

import (
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/mcpchain/mcpchain/agent/run"
)

// These types keep members of a later version, so each marshals itself to stay correct with
// encoding/json. Nested in each other they are marshalled as plain structs, in one pass.
type (
	plainState    State
	plainMessage  run.Message
	plainPart     run.Part
	plainAsk      run.Question
	plainAnswer   run.Reply
	plainLimits   run.Limits
	plainSpent    run.Spent
	plainSampling run.Sampling
	plainDecision Decision
	plainKept     run.Kept
)

// options are used for all values of a run: equal values have equal bytes. Text and raw JSON of
// peers is kept even if it is not valid UTF-8 or has duplicate members.
var options = jsonv2.JoinOptions(
	jsonv2.Deterministic(true), jsonv1.FormatDurationAsNano(true),
	jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
	jsonv2.WithMarshalers(marshalers), jsonv2.WithUnmarshalers(unmarshalers),
)

var marshalers = jsonv2.JoinMarshalers(
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, s *State) error { return jsonv2.MarshalEncode(e, (*plainState)(s)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, m *run.Message) error { return jsonv2.MarshalEncode(e, (*plainMessage)(m)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, p *run.Part) error { return jsonv2.MarshalEncode(e, (*plainPart)(p)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, q *run.Question) error { return jsonv2.MarshalEncode(e, (*plainAsk)(q)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, a *run.Reply) error { return jsonv2.MarshalEncode(e, (*plainAnswer)(a)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, l *run.Limits) error { return jsonv2.MarshalEncode(e, (*plainLimits)(l)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, s *run.Spent) error { return jsonv2.MarshalEncode(e, (*plainSpent)(s)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, s *run.Sampling) error { return jsonv2.MarshalEncode(e, (*plainSampling)(s)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, d *Decision) error { return jsonv2.MarshalEncode(e, (*plainDecision)(d)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, k *run.Kept) error { return jsonv2.MarshalEncode(e, (*plainKept)(k)) }),
)

var unmarshalers = jsonv2.JoinUnmarshalers(
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, s *State) error { return s.read(d) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, m *run.Message) error { return jsonv2.UnmarshalDecode(d, (*plainMessage)(m)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, p *run.Part) error { return jsonv2.UnmarshalDecode(d, (*plainPart)(p)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, q *run.Question) error { return jsonv2.UnmarshalDecode(d, (*plainAsk)(q)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, a *run.Reply) error { return jsonv2.UnmarshalDecode(d, (*plainAnswer)(a)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, l *run.Limits) error { return jsonv2.UnmarshalDecode(d, (*plainLimits)(l)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, s *run.Spent) error { return jsonv2.UnmarshalDecode(d, (*plainSpent)(s)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, s *run.Sampling) error {
		return jsonv2.UnmarshalDecode(d, (*plainSampling)(s))
	}),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, o *Decision) error { return jsonv2.UnmarshalDecode(d, (*plainDecision)(o)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, k *run.Kept) error { return jsonv2.UnmarshalDecode(d, (*plainKept)(k)) }),
)

func marshal(v any) ([]byte, error) { return jsonv2.Marshal(v, options) }

func unmarshal(data []byte, v any) error { return jsonv2.Unmarshal(data, v, options) }

// read unmarshals data into to; what names the value in errors.
func read[T any](what string, data []byte, to *T) error {
	var v T
	if err := unmarshal(data, &v); err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	*to = v
	return nil
}

// read unmarshals a state, and refuses sub-agents that are nested too deeply.
func (s *State) read(d *jsontext.Decoder) error {
	const level = 3 // the state, its calls, a call
	if d.StackDepth() > level*MaxDepth {
		return errTooDeep
	}
	return jsonv2.UnmarshalDecode(d, (*plainState)(s))
}

// MarshalJSON implements [encoding/json.Marshaler]. Equal states have equal bytes.
func (s *State) MarshalJSON() ([]byte, error) { return marshal(s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler]. It refuses a version later than
// [Version], and a state that no sequence of records produces.
func (s *State) UnmarshalJSON(data []byte) error {
	var of struct {
		V int `json:"v"`
	}
	if err := read("state", data, &of); err != nil {
		return err
	}
	if err := readable(of.V); err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	var whole State
	if err := read("state", data, &whole); err != nil {
		return err
	}
	if err := whole.check(map[string]bool{}); err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	*s = whole
	return nil
}

// MarshalJSON implements [encoding/json.Marshaler].
func (d Decision) MarshalJSON() ([]byte, error) { return marshal(&d) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (d *Decision) UnmarshalJSON(data []byte) error { return read("a decision", data, d) }
