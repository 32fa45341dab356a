package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mcpchain/mcpchain/internal/excerpt"
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
	return Unmarshal(raw, into)
}

// Unmarshal is json.Unmarshal with an error of at most 1 KiB: the text of one quotes a number that
// does not fit, of any length.
func Unmarshal(raw []byte, into any) error {
	err := json.Unmarshal(raw, into)
	if err == nil || len(err.Error()) <= excerpt.Max {
		return err
	}
	return errors.New(excerpt.Cut(err.Error()))
}
