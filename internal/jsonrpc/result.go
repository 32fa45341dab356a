package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// DecodeResult decodes a result, which is valid JSON, within a bound.
func DecodeResult(raw json.RawMessage, result any) error {
	switch result := result.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*result = bytes.Clone(raw) // without the rest of the message
		return nil
	case json.Unmarshaler: // which needs no other look at what is valid
		return result.UnmarshalJSON(raw)
	}
	if err := LimitArrays(raw, MaxElements, "structuredContent"); err != nil { // which also refuses what is not an object
		return err
	}
	return json.Unmarshal(raw, result)
}
