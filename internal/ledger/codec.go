package ledger

import (
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/mcpchain/mcpchain/agent/run"
)

// These types have the fields of other types without their methods, because a method would encode
// each value by itself, to bytes that are then checked and copied again.
type (
	plainState    State
	plainDecision Decision

	plainMessage  run.Message
	plainPart     run.Part
	plainQuestion run.Question
	plainReply    run.Reply
	plainLimits   run.Limits
	plainUsage    run.Usage
)

// format is the JSON of states and records. Equal values have equal bytes, and raw JSON of peers is
// kept even if it has invalid UTF-8 or duplicate members. Types with methods for encoding/json are
// encoded as their plain types, in one pass with the value that contains them. A type that is missing
// here has the same bytes, and takes longer.
var format = newFormat(
	plain(func(m *run.Message) *plainMessage { return (*plainMessage)(m) }),
	plain(func(p *run.Part) *plainPart { return (*plainPart)(p) }),
	plain(func(q *run.Question) *plainQuestion { return (*plainQuestion)(q) }),
	plain(func(r *run.Reply) *plainReply { return (*plainReply)(r) }),
	plain(func(l *run.Limits) *plainLimits { return (*plainLimits)(l) }),
	plain(func(s *run.Usage) *plainUsage { return (*plainUsage)(s) }),
	plain(func(d *Decision) *plainDecision { return (*plainDecision)(d) }),
	coder{ // states of sub-agents
		jsonv2.MarshalToFunc(func(e *jsontext.Encoder, s *State) error {
			return jsonv2.MarshalEncode(e, (*plainState)(s))
		}),
		jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, s *State) error {
			if err := checkDepth(d); err != nil {
				return err
			}
			return jsonv2.UnmarshalDecode(d, (*plainState)(s))
		}),
	},
	coder{ // entries of sub-agents; readChange decodes them, because it counts their depth
		marshal: jsonv2.MarshalToFunc(func(e *jsontext.Encoder, r *Entry) error { return r.write(e) }),
	},
)

// AnyJSON allows what the JSON of peers may have, which records and heads keep as it is, and names that are not UTF-8.
var AnyJSON = jsonv2.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

type coder struct {
	marshal   *jsonv2.Marshalers
	unmarshal *jsonv2.Unmarshalers // nil: by UnmarshalJSON
}

// plain returns the coder of a T that is encoded as P, the same struct without methods.
func plain[T, P any](convert func(*T) *P) coder {
	return coder{
		jsonv2.MarshalToFunc(func(e *jsontext.Encoder, v *T) error { return jsonv2.MarshalEncode(e, convert(v)) }),
		jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *T) error { return jsonv2.UnmarshalDecode(d, convert(v)) }),
	}
}

// newFormat returns the options that format consists of, with these coders.
func newFormat(coders ...coder) jsonv2.Options {
	var marshal []*jsonv2.Marshalers
	var unmarshal []*jsonv2.Unmarshalers
	for _, c := range coders {
		marshal = append(marshal, c.marshal)
		unmarshal = append(unmarshal, c.unmarshal)
	}
	return jsonv2.JoinOptions(
		jsonv2.Deterministic(true), jsonv1.FormatDurationAsNano(true), AnyJSON,
		jsonv2.WithMarshalers(jsonv2.JoinMarshalers(marshal...)),
		jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(unmarshal...)),
	)
}

// checkDepth refuses a state of a sub-agent that is nested too deeply.
func checkDepth(d *jsontext.Decoder) error {
	const levelsPerRun = 3 // the state, its calls, a call
	if d.StackDepth() > levelsPerRun*MaxDepth {
		return errTooDeep
	}
	return nil
}

// MarshalJSON implements [encoding/json.Marshaler]. Equal states have equal bytes.
func (s *State) MarshalJSON() ([]byte, error) { return jsonv2.Marshal(s, format) }

// UnmarshalJSON implements [encoding/json.Unmarshaler]. It refuses a version later than
// [Version], and a state that no sequence of records produces.
func (s *State) UnmarshalJSON(data []byte) error {
	read, err := readState(data)
	if err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	*s = *read
	return nil
}

// readState decodes a state. It reads the version first, because a later one may have another form.
func readState(data []byte) (*State, error) {
	var version struct {
		V int `json:"v"`
	}
	if err := jsonv2.Unmarshal(data, &version, format); err != nil {
		return nil, err
	}
	if err := checkVersion(version.V); err != nil {
		return nil, err
	}
	s := new(State)
	if err := jsonv2.Unmarshal(data, s, format); err != nil {
		return nil, err
	}
	if err := s.check(map[string]bool{}); err != nil {
		return nil, err
	}
	return s, nil
}

// MarshalJSON implements [encoding/json.Marshaler].
func (d Decision) MarshalJSON() ([]byte, error) { return jsonv2.Marshal(&d, format) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (d *Decision) UnmarshalJSON(data []byte) error {
	var read Decision
	if err := jsonv2.Unmarshal(data, &read, format); err != nil {
		return fmt.Errorf("read decision: %w", err)
	}
	*d = read
	return nil
}
