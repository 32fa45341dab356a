package run

import (
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// These types have the fields of the types of this package, and no methods.
type (
	plainMessage  Message
	plainPart     Part
	plainQuestion Question
	plainReply    Reply
	plainLimits   Limits
	plainUsage    Usage
)

// format is the JSON of this package. Equal values have equal bytes, and raw JSON of peers is kept
// even if it has invalid UTF-8 or duplicate members. encoding/json would lose unknown members.
var format = jsonv2.JoinOptions(
	jsonv2.Deterministic(true), jsonv1.FormatDurationAsNano(true),
	jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
)

// unmarshal decodes data into to, which it leaves unchanged if it fails. what names the value in
// errors.
func unmarshal[T any](what string, data []byte, to *T) error {
	var v T
	if err := jsonv2.Unmarshal(data, &v, format); err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	*to = v
	return nil
}

// MarshalJSON implements [encoding/json.Marshaler]. Equal messages have equal bytes.
func (m Message) MarshalJSON() ([]byte, error) { return jsonv2.Marshal((*plainMessage)(&m), format) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (m *Message) UnmarshalJSON(data []byte) error {
	return unmarshal("message", data, (*plainMessage)(m))
}

// MarshalJSON implements [encoding/json.Marshaler]. Equal parts have equal bytes.
func (p Part) MarshalJSON() ([]byte, error) { return jsonv2.Marshal((*plainPart)(&p), format) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (p *Part) UnmarshalJSON(data []byte) error { return unmarshal("part", data, (*plainPart)(p)) }

// MarshalJSON implements [encoding/json.Marshaler]. Equal questions have equal bytes.
func (q Question) MarshalJSON() ([]byte, error) { return jsonv2.Marshal((*plainQuestion)(&q), format) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (q *Question) UnmarshalJSON(data []byte) error {
	return unmarshal("question", data, (*plainQuestion)(q))
}

// MarshalJSON implements [encoding/json.Marshaler]. Equal replies have equal bytes.
func (r Reply) MarshalJSON() ([]byte, error) { return jsonv2.Marshal((*plainReply)(&r), format) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (r *Reply) UnmarshalJSON(data []byte) error { return unmarshal("answer", data, (*plainReply)(r)) }

// MarshalJSON implements [encoding/json.Marshaler].
func (l Limits) MarshalJSON() ([]byte, error) { return jsonv2.Marshal((*plainLimits)(&l), format) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (l *Limits) UnmarshalJSON(data []byte) error {
	return unmarshal("limits", data, (*plainLimits)(l))
}

// MarshalJSON implements [encoding/json.Marshaler].
func (s Usage) MarshalJSON() ([]byte, error) { return jsonv2.Marshal((*plainUsage)(&s), format) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (s *Usage) UnmarshalJSON(data []byte) error { return unmarshal("usage", data, (*plainUsage)(s)) }
