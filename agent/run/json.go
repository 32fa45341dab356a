package run

import (
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// These types keep members of a later version, so each marshals itself to stay correct with
// encoding/json. Nested in each other they are marshalled as plain structs, in one pass.
type (
	plainMessage  Message
	plainPart     Part
	plainAsk      Question
	plainAnswer   Reply
	plainLimits   Limits
	plainSpent    Spent
	plainSampling Sampling
	plainKept     Kept
)

// options are used for all values of a run: equal values have equal bytes. Text and raw JSON of
// peers is kept even if it is not valid UTF-8 or has duplicate members.
var options = jsonv2.JoinOptions(
	jsonv2.Deterministic(true), jsonv1.FormatDurationAsNano(true),
	jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
	jsonv2.WithMarshalers(marshalers), jsonv2.WithUnmarshalers(unmarshalers),
)

var marshalers = jsonv2.JoinMarshalers(
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, m *Message) error { return jsonv2.MarshalEncode(e, (*plainMessage)(m)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, p *Part) error { return jsonv2.MarshalEncode(e, (*plainPart)(p)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, q *Question) error { return jsonv2.MarshalEncode(e, (*plainAsk)(q)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, a *Reply) error { return jsonv2.MarshalEncode(e, (*plainAnswer)(a)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, l *Limits) error { return jsonv2.MarshalEncode(e, (*plainLimits)(l)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, s *Spent) error { return jsonv2.MarshalEncode(e, (*plainSpent)(s)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, s *Sampling) error { return jsonv2.MarshalEncode(e, (*plainSampling)(s)) }),
	jsonv2.MarshalToFunc(func(e *jsontext.Encoder, k *Kept) error { return jsonv2.MarshalEncode(e, (*plainKept)(k)) }),
)

var unmarshalers = jsonv2.JoinUnmarshalers(
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, m *Message) error { return jsonv2.UnmarshalDecode(d, (*plainMessage)(m)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, p *Part) error { return jsonv2.UnmarshalDecode(d, (*plainPart)(p)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, q *Question) error { return jsonv2.UnmarshalDecode(d, (*plainAsk)(q)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, a *Reply) error { return jsonv2.UnmarshalDecode(d, (*plainAnswer)(a)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, l *Limits) error { return jsonv2.UnmarshalDecode(d, (*plainLimits)(l)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, s *Spent) error { return jsonv2.UnmarshalDecode(d, (*plainSpent)(s)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, s *Sampling) error { return jsonv2.UnmarshalDecode(d, (*plainSampling)(s)) }),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, k *Kept) error { return jsonv2.UnmarshalDecode(d, (*plainKept)(k)) }),
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

// MarshalJSON implements [encoding/json.Marshaler]. Equal messages have equal bytes.
func (m Message) MarshalJSON() ([]byte, error) { return marshal(&m) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (m *Message) UnmarshalJSON(data []byte) error { return read("message", data, m) }

// MarshalJSON implements [encoding/json.Marshaler]. Equal parts have equal bytes.
func (p Part) MarshalJSON() ([]byte, error) { return marshal(&p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (p *Part) UnmarshalJSON(data []byte) error { return read("part", data, p) }

// MarshalJSON implements [encoding/json.Marshaler]. Equal questions have equal bytes.
func (q Question) MarshalJSON() ([]byte, error) { return marshal(&q) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (q *Question) UnmarshalJSON(data []byte) error { return read("question", data, q) }

// MarshalJSON implements [encoding/json.Marshaler]. Equal replies have equal bytes.
func (a Reply) MarshalJSON() ([]byte, error) { return marshal(&a) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (a *Reply) UnmarshalJSON(data []byte) error { return read("answer", data, a) }

// MarshalJSON implements [encoding/json.Marshaler].
func (l Limits) MarshalJSON() ([]byte, error) { return marshal(&l) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (l *Limits) UnmarshalJSON(data []byte) error { return read("limits", data, l) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s Spent) MarshalJSON() ([]byte, error) { return marshal(&s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *Spent) UnmarshalJSON(data []byte) error { return read("counts", data, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s Sampling) MarshalJSON() ([]byte, error) { return marshal(&s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *Sampling) UnmarshalJSON(data []byte) error { return read("counts of completions", data, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (k Kept) MarshalJSON() ([]byte, error) { return marshal(&k) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (k *Kept) UnmarshalJSON(data []byte) error { return read("a kept result", data, k) }
