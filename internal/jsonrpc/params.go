package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// EncodeParams returns v as a JSON object on one line. It returns nil for nil, for an empty json.RawMessage, and for what
// encodes as null. It is an error if v encodes as any other JSON.
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

// CloseObject appends the brace that ends an object. It replaces a comma after the last member.
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
