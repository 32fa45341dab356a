package run

import "github.com/mcpchain/mcpchain/internal/runjson"

// These types have the fields of the types of this package, and no methods.
type (
	plainMessage  Message
	plainPart     Part
	plainQuestion Question
	plainReply    Reply
	plainLimits   Limits
	plainSpent    Spent
	plainSampling Sampling
	plainKept     Kept
)

// JSONTypes returns how the types of this package are encoded inside other values. It is for
// the packages of this module that store them.
func JSONTypes() []runjson.Type {
	return []runjson.Type{
		runjson.Plain(func(m *Message) *plainMessage { return (*plainMessage)(m) }),
		runjson.Plain(func(p *Part) *plainPart { return (*plainPart)(p) }),
		runjson.Plain(func(q *Question) *plainQuestion { return (*plainQuestion)(q) }),
		runjson.Plain(func(r *Reply) *plainReply { return (*plainReply)(r) }),
		runjson.Plain(func(l *Limits) *plainLimits { return (*plainLimits)(l) }),
		runjson.Plain(func(s *Spent) *plainSpent { return (*plainSpent)(s) }),
		runjson.Plain(func(s *Sampling) *plainSampling { return (*plainSampling)(s) }),
		runjson.Plain(func(k *Kept) *plainKept { return (*plainKept)(k) }),
	}
}

// codec encodes and decodes all values of this package.
var codec = runjson.New(JSONTypes()...)

// MarshalJSON implements [encoding/json.Marshaler]. Equal messages have equal bytes.
func (m Message) MarshalJSON() ([]byte, error) { return codec.Marshal(&m) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (m *Message) UnmarshalJSON(data []byte) error { return runjson.Read(codec, "message", data, m) }

// MarshalJSON implements [encoding/json.Marshaler]. Equal parts have equal bytes.
func (p Part) MarshalJSON() ([]byte, error) { return codec.Marshal(&p) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (p *Part) UnmarshalJSON(data []byte) error { return runjson.Read(codec, "part", data, p) }

// MarshalJSON implements [encoding/json.Marshaler]. Equal questions have equal bytes.
func (q Question) MarshalJSON() ([]byte, error) { return codec.Marshal(&q) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (q *Question) UnmarshalJSON(data []byte) error { return runjson.Read(codec, "question", data, q) }

// MarshalJSON implements [encoding/json.Marshaler]. Equal replies have equal bytes.
func (r Reply) MarshalJSON() ([]byte, error) { return codec.Marshal(&r) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *Reply) UnmarshalJSON(data []byte) error { return runjson.Read(codec, "answer", data, r) }

// MarshalJSON implements [encoding/json.Marshaler].
func (l Limits) MarshalJSON() ([]byte, error) { return codec.Marshal(&l) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (l *Limits) UnmarshalJSON(data []byte) error { return runjson.Read(codec, "limits", data, l) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s Spent) MarshalJSON() ([]byte, error) { return codec.Marshal(&s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *Spent) UnmarshalJSON(data []byte) error { return runjson.Read(codec, "usage", data, s) }

// MarshalJSON implements [encoding/json.Marshaler].
func (s Sampling) MarshalJSON() ([]byte, error) { return codec.Marshal(&s) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *Sampling) UnmarshalJSON(data []byte) error {
	return runjson.Read(codec, "sampling usage", data, s)
}

// MarshalJSON implements [encoding/json.Marshaler].
func (k Kept) MarshalJSON() ([]byte, error) { return codec.Marshal(&k) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (k *Kept) UnmarshalJSON(data []byte) error { return runjson.Read(codec, "kept result", data, k) }
