package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// MaxElements bounds the items of a page, the blocks of a result and the messages of a prompt:
// 32 MiB of "{},{},…" would be gigabytes of Go values.
const MaxElements = 10_000

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

// LimitArrays returns an error if a member of the object, except the named ones, is an array of
// more than max elements, or if all arrays in these members together, at any depth, have more than
// ten times as many. Decoding costs memory for each element, however short it is.
func LimitArrays(object []byte, max int, except ...string) error {
	d := NewDecoder(object, max)
	for key := range d.Members {
		switch {
		case slices.Contains(except, string(key)):
			continue
		case d.Kind() == '[':
			for range d.Elements {
				d.Spend(d.Raw())
			}
		default:
			d.Spend(d.Raw())
		}
		if d.Err() != nil {
			return fmt.Errorf("member %q: %w", excerpt.Cut(string(key)), d.Err())
		}
	}
	return d.Err()
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

const maxTTL = 24 * time.Hour

// TTL reads the member ttlMs of a result: for how long it may be cached, at most 24 h. It is 0 if
// the member is absent or not a positive number.
func TTL(ttl json.RawMessage) time.Duration {
	var ms float64
	if len(ttl) == 0 || json.Unmarshal(ttl, &ms) != nil || !(ms > 0) {
		return 0
	}
	return time.Duration(min(ms, float64(maxTTL/time.Millisecond)) * float64(time.Millisecond))
}
