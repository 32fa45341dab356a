package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// DecodeResult decodes a result, which is valid JSON. It copies the text into a *json.RawMessage, and
// leaves the bounds to a [json.Unmarshaler]. For any other pointer, the result must be an object and
// have no more elements than [LimitArrays] allows; structured content does not count. It decodes
// nothing into nil.
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
