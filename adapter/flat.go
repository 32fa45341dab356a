package adapter

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// flat decodes objects into a struct whose fields are strings, numbers and booleans, in one pass. It handles only what
// encoding/json decodes in the same way, and leaves the rest to it. A nil flat handles nothing.
type flat map[string]field

// field is a field of a flat struct.
type field struct {
	index int
	kind  reflect.Kind
}

// newFlat returns the decoder for a type, nil if it is not such a struct.
func newFlat(t reflect.Type) flat {
	if t.Kind() != reflect.Struct || readsItself(t) {
		return nil
	}
	f := flat{}
	for i := range t.NumField() {
		s := t.Field(i)
		tag := s.Tag.Get("json")
		if tag == "-" || !s.IsExported() && !s.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		name = cmp.Or(name, s.Name)
		_, double := f[name]
		if double || s.Anonymous || strings.Contains(options, "string") || !isPlainName(name) || !isScalar(s.Type) {
			return nil
		}
		f[name] = field{i, s.Type.Kind()}
	}
	return f
}

// isPlainName reports whether encoding/json uses a name in a tag unchanged.
func isPlainName(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return t != reflect.TypeFor[json.Number]() && !readsItself(t)
	}
	return false
}

// readsItself reports whether a type has an unmarshal method.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// read decodes an object into a zero struct. If it returns false, some fields may be set.
func (f flat) read(data []byte, into reflect.Value) bool {
	if f == nil {
		return false
	}
	d := jsonrpc.NewDecoder(data, 1)
	for name := range d.Members {
		at, known := f[string(name)]
		if !known || !at.set(into.Field(at.index), d.Raw()) {
			return false // it may match a field in another case
		}
	}
	return d.Err() == nil && d.Offset() == len(data)
}

// set sets a field to a value that fits.
func (f field) set(v reflect.Value, raw []byte) bool {
	switch f.kind {
	case reflect.String:
		s, ok := jsonrpc.String(raw)
		v.SetString(s)
		return ok
	case reflect.Bool:
		v.SetBool(string(raw) == "true")
		return string(raw) == "true" || string(raw) == "false"
	case reflect.Float32, reflect.Float64:
		n, err := strconv.ParseFloat(string(raw), v.Type().Bits())
		v.SetFloat(n)
		return err == nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(string(raw), 10, v.Type().Bits())
		v.SetInt(n)
		return err == nil
	}
	n, err := strconv.ParseUint(string(raw), 10, v.Type().Bits())
	v.SetUint(n)
	return err == nil
}
