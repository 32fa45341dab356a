package jsonrpc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// UnmarshalMember decodes the value of a member with encoding/json, where that is fast enough. A value that does not fit
// fails d.
func UnmarshalMember(d *Decoder, name string, into any) {
	raw := d.Raw()
	if d.Spend(raw); d.Err() != nil {
		return
	}
	if err := Unmarshal(raw, into); err != nil {
		d.Fail(fmt.Errorf("member %q: %v", name, err))
	}
}

// MembersOf ranges over the names of an object that may be null or an empty list: see [IsEmptyList].
func MembersOf(d *Decoder) iter.Seq[[]byte] {
	return func(yield func(name []byte) bool) {
		switch d.Kind() {
		case 'n':
		case '[':
			if raw := d.Raw(); !IsEmptyList(raw) {
				d.Fail(fmt.Errorf("want an object, got %s", excerpt.Quote(raw)))
			}
		default:
			d.Members(yield)
		}
	}
}

// IsEmptyList reports whether raw, which is valid JSON, is a list without elements. PHP writes an
// object without members like that.
func IsEmptyList(raw []byte) bool {
	return len(raw) >= 2 && raw[0] == '[' && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
}

// ObjectMember is [UnmarshalMember] for an object that may be an empty list.
func ObjectMember(d *Decoder, name string, into any) {
	if d.Kind() != '[' {
		UnmarshalMember(d, name, into)
		return
	}
	for range MembersOf(d) {
		continue
	}
}

// MapMember decodes a member that is an object of at most [MaxElements] members, null or an empty
// list. It is nil for the latter two, and after an error.
func MapMember(d *Decoder, name string) map[string]json.RawMessage {
	raw := d.Raw()
	if d.Err() != nil || string(raw) == "null" || IsEmptyList(raw) {
		return nil
	}
	all, err := Object(raw, MaxElements)
	if err != nil {
		d.Fail(fmt.Errorf("member %q: %w", name, err))
	}
	return all
}

// StringsMember decodes a member that is a list of strings, or null.
func StringsMember(d *Decoder, name string) (all []string) {
	if d.Kind() == 'n' {
		return nil
	}
	for range d.Elements {
		all = append(all, StringMember(d, name, d.Raw()))
	}
	return all
}

// BooleanMember decodes a member that is a boolean, or null for false.
func BooleanMember(d *Decoder, name string) bool {
	raw := d.Raw()
	b, ok := Boolean(raw)
	if !ok {
		d.Fail(fmt.Errorf("member %q is not a boolean: %s", name, excerpt.Quote(raw)))
	}
	return b
}

// StringMember decodes the value raw of a member, a string that may be absent or null. Another value fails d.
func StringMember(d *Decoder, name string, raw []byte) string {
	s, ok := OptionalString(raw)
	if !ok {
		d.Fail(fmt.Errorf("member %q is not a string: %s", name, excerpt.Quote(raw)))
	}
	return s
}

// OptionalString decodes a string that may be absent or null. ok is false for any other value.
func OptionalString(raw []byte) (s string, ok bool) {
	if raw == nil || string(raw) == "null" {
		return "", true
	}
	return String(raw)
}

// Boolean decodes a boolean, false if it is absent or null. ok is false for any other value.
func Boolean(raw []byte) (b, ok bool) {
	switch string(raw) {
	case "true":
		return true, true
	case "", "false", "null":
		return false, true
	}
	return false, false
}

// Plain returns the content of a string as bytes, without escapes. It shares the memory of raw if
// there are none. It is nil for any other value.
func Plain(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		s, _ := String(raw)
		return []byte(s)
	}
	return raw[1 : len(raw)-1]
}

// Base64 decodes a string of base64. Data of length 0 are not nil. ok is false for any other value.
func Base64(raw []byte) (data []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	text := Plain(raw)
	data = make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text)
	return data[:n], err == nil
}

// IsObject reports whether raw, which is valid JSON, is an object.
func IsObject(raw []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}
