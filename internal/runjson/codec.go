// Package runjson encodes and decodes the data of runs. Equal values have equal bytes. Text and
// raw JSON of peers are kept even if they have invalid UTF-8 or duplicate members.
package runjson

import (
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Type says how values of a type are encoded inside other values.
type Type struct {
	marshal   *jsonv2.Marshalers
	unmarshal *jsonv2.Unmarshalers
}

// Plain returns the Type of a struct T with the methods MarshalJSON and UnmarshalJSON, by which
// encoding/json keeps unknown members. Inside other values it is encoded as P, the same struct
// without the methods, so that the encoder writes all of them in one pass.
func Plain[T, P any](plain func(*T) *P) Type {
	t := Encoded(func(e *jsontext.Encoder, v *T) error { return jsonv2.MarshalEncode(e, plain(v)) })
	t.unmarshal = jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *T) error { return jsonv2.UnmarshalDecode(d, plain(v)) })
	return t
}

// Encoded returns the Type of a T that marshal encodes, and that is decoded as usual.
func Encoded[T any](marshal func(*jsontext.Encoder, *T) error) Type {
	return Type{marshal: jsonv2.MarshalToFunc(marshal)}
}

// Checked returns a Plain type that check may refuse before it is decoded.
func Checked[T, P any](plain func(*T) *P, check func(*jsontext.Decoder) error) Type {
	t := Plain(plain)
	t.unmarshal = jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *T) error {
		if err := check(d); err != nil {
			return err
		}
		return jsonv2.UnmarshalDecode(d, plain(v))
	})
	return t
}

// Codec encodes and decodes values that contain values of some types.
type Codec struct{ options jsonv2.Options }

// New returns a codec for types.
func New(types ...Type) Codec {
	var marshal []*jsonv2.Marshalers
	var unmarshal []*jsonv2.Unmarshalers
	for _, t := range types {
		marshal = append(marshal, t.marshal)
		if t.unmarshal != nil {
			unmarshal = append(unmarshal, t.unmarshal)
		}
	}
	return Codec{jsonv2.JoinOptions(
		jsonv2.Deterministic(true), jsonv1.FormatDurationAsNano(true),
		jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
		jsonv2.WithMarshalers(jsonv2.JoinMarshalers(marshal...)),
		jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(unmarshal...)),
	)}
}

// Marshal encodes a value.
func (c Codec) Marshal(v any) ([]byte, error) { return jsonv2.Marshal(v, c.options) }

// Unmarshal decodes a value into v, a pointer.
func (c Codec) Unmarshal(data []byte, v any) error { return jsonv2.Unmarshal(data, v, c.options) }

// Read decodes data into to, which it leaves alone if it fails. what names the value in errors.
func Read[T any](c Codec, what string, data []byte, to *T) error {
	var v T
	if err := c.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	*to = v
	return nil
}
