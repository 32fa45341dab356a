package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// DecodeResult decodes a result, which is valid JSON, into a *json.RawMessage as a copy, into a
// [json.Unmarshaler], which has bounds of its own, or into another pointer. Then it is an error
// if the result is not an object, or has too many elements: see [LimitArrays]. Structured content
// has no bound here. With nil nothing is decoded.
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
	return json.Unmarshal(raw, into)
}
