package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// MaxElements bounds the items of a page, the blocks of a result and the messages of a prompt:
// 32 MiB of "{},{},…" would be gigabytes of Go values.
const MaxElements = 10_000

// EncodeParams returns v as a JSON object on one line. It is nil for nil, an empty
// json.RawMessage and what encodes as null. Any other value is an error.
func EncodeParams(v any) ([]byte, error) {
	var raw json.RawMessage
	var err error
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		if len(bytes.TrimSpace(v)) == 0 {
			return nil, nil
		}
		raw, err = OneLine(v)
	default:
		raw, err = Marshal(v)
	}
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimSpace(raw)
	_, isBytes := v.([]byte)
	switch {
	case string(raw) == "null":
		return nil, nil
	case isBytes:
		return nil, errors.New("want a JSON object, got a []byte, which is encoded as base64: make it a json.RawMessage")
	case raw[0] != '{':
		return nil, fmt.Errorf("want a JSON object, got %s", excerpt.Quote(raw))
	}
	return raw, nil
}

// AppendMember appends one member and a comma.
func AppendMember(b []byte, key string, value []byte) []byte {
	b = append(AppendString(b, key), ':')
	return append(append(b, value...), ',')
}

// CloseObject ends an object whose members each have a comma after them.
func CloseObject(b []byte) []byte {
	if b[len(b)-1] == ',' {
		b[len(b)-1] = '}'
		return b
	}
	return append(b, '}')
}

// AppendMembers appends the members of object without its braces, and a comma if there are any.
func AppendMembers(b []byte, object []byte) []byte {
	if len(object) < 2 {
		return b
	}
	inner := bytes.TrimSpace(object[1 : len(object)-1])
	if len(inner) == 0 {
		return b
	}
	return append(append(b, inner...), ',')
}

// DecodeResult decodes a result, which is valid JSON. It copies the text into a *json.RawMessage, and leaves the bounds
// to a [json.Unmarshaler]. For any other pointer, the result must be an object and have no more elements than
// [LimitArrays] allows; structured content does not count. It decodes nothing into nil.
func DecodeResult(raw json.RawMessage, into any) error {
	switch into := into.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*into = bytes.Clone(raw) // without the rest of the message
		return nil
	case json.Unmarshaler:
		return into.UnmarshalJSON(raw) // json.Unmarshal would validate it again
	}
	if err := LimitArrays(raw, MaxElements, "structuredContent"); err != nil {
		return err
	}
	return Unmarshal(raw, into)
}

// Unmarshal is json.Unmarshal with an error of at most 1 KiB: encoding/json quotes a number that does
// not fit, however long it is.
func Unmarshal(raw []byte, into any) error {
	err := json.Unmarshal(raw, into)
	if err == nil || len(err.Error()) <= excerpt.Max {
		return err
	}
	return errors.New(excerpt.Cut(err.Error()))
}
