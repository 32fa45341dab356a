package toolschema

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// OfType returns the JSON Schema of a Go type, as package encoding/json decodes it. The error says
// which part of the type has none.
//
// Properties come from exported fields, in their order. A property is required unless its tag says omitempty or omitzero,
// or the field is a pointer. Structs allow no other properties. These tags count:
//
//	json:"city,omitempty"         the name, and that the property is optional
//	json:",string"                that a number or boolean is written as a string
//	jsonschema:"The city's name"  the description
//	enum:"red,green,blue"         the values of a string, or of each item of a list; the type must be able to hold them
//	minimum:"1" maximum:"10"      the bounds of a number, within those of its type
//
// A pointer has the schema of its target. Fields of embedded structs belong to the outer struct by the rules of
// encoding/json; as there, a name of a tag with an odd character is ignored, and so is the option string of a list.
// [time.Time] is a date-time, []byte is base64, [json.Number] is a number, and an [encoding.TextUnmarshaler] is a string.
// any and a [json.Unmarshaler] accept any value. A recursive type becomes a definition.
func OfType(t reflect.Type) (json.RawMessage, error) {
	w := &typeWriter{open: map[reflect.Type]int{}, names: map[reflect.Type]string{}}
	root, err := w.schema(t)
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, err)
	}
	root.Defs = map[string]*typeSchema{}
	for i := 0; i < len(w.recursive); i++ { // a definition may add further ones
		t := w.recursive[i]
		if root.Defs[w.names[t]], err = w.composite(t); err != nil {
			return nil, fmt.Errorf("schema of %v: %w", t, err)
		}
	}
	return jsonrpc.Marshal(root)
}

// typeSchema is the schema of a type, with the keywords in the order in which they are written.
type typeSchema struct {
	Description          string                 `json:"description,omitempty"`
	Ref                  string                 `json:"$ref,omitempty"`
	Type                 string                 `json:"type,omitempty"`
	Format               string                 `json:"format,omitempty"`
	ContentEncoding      string                 `json:"contentEncoding,omitempty"`
	Pattern              string                 `json:"pattern,omitempty"`
	Enum                 []string               `json:"enum,omitempty"`
	Minimum              any                    `json:"minimum,omitempty"` // an integer, or a json.Number
	Maximum              any                    `json:"maximum,omitempty"`
	Items                *typeSchema            `json:"items,omitempty"`
	MinItems             *int                   `json:"minItems,omitempty"`
	MaxItems             *int                   `json:"maxItems,omitempty"`
	Properties           json.RawMessage        `json:"properties,omitempty"`
	Required             []string               `json:"required,omitempty"`
	AdditionalProperties any                    `json:"additionalProperties,omitempty"` // a *typeSchema, or false
	Defs                 map[string]*typeSchema `json:"$defs,omitempty"`
}

// typeWriter writes one schema.
type typeWriter struct {
	open      map[reflect.Type]int // how many of each struct, map and list are around the current type
	recursive []reflect.Type
	names     map[reflect.Type]string // names of the definitions of recursive types
}

// reference returns a reference to the definition of a recursive type.
func (w *typeWriter) reference(t reflect.Type) *typeSchema {
	name, known := w.names[t]
	if !known {
		name = definitionName(t)
		for n := 2; slices.Contains(slices.Collect(maps.Values(w.names)), name); n++ {
			name = definitionName(t) + strconv.Itoa(n)
		}
		w.names[t], w.recursive = name, append(w.recursive, t)
	}
	return &typeSchema{Ref: "#/$defs/" + name}
}

// definitionName returns a type's name, or else its kind, without characters that need escapes in references.
func definitionName(t reflect.Type) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, cmp.Or(t.Name(), t.Kind().String()))
}

var (
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
)

// maxPointers bounds the pointers to a type: a pointer type may be its own target.
const maxPointers = 100

// schema returns the schema of a type.
func (w *typeWriter) schema(t reflect.Type) (*typeSchema, error) {
	for n := 0; n < maxPointers && t.Kind() == reflect.Pointer; n++ {
		t = t.Elem()
	}
	switch pointer := reflect.PointerTo(t); {
	case t == reflect.TypeFor[time.Time]():
		return &typeSchema{Type: "string", Format: "date-time"}, nil
	case t == reflect.TypeFor[json.Number]():
		return &typeSchema{Type: "number"}, nil
	case pointer.Implements(jsonUnmarshaler):
		return new(typeSchema), nil
	case pointer.Implements(textUnmarshaler):
		return &typeSchema{Type: "string"}, nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return &typeSchema{Type: "boolean"}, nil
	case reflect.String:
		return &typeSchema{Type: "string"}, nil
	case reflect.Float32, reflect.Float64:
		return &typeSchema{Type: "number"}, nil
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return new(typeSchema), nil
		}
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		// A type without a name that contains itself does so by a type with a better name, except by a pointer type.
		if n := w.open[t]; n > 1 || n == 1 && t.Name() != "" {
			return w.reference(t), nil
		}
		return w.composite(t)
	default:
		if low, high, ok := integers(t); ok {
			return &typeSchema{Type: "integer", Minimum: low, Maximum: high}, nil
		}
	}
	return nil, fmt.Errorf("%v has no JSON", t)
}

// integers returns the bounds of an integer type, nil for types of 64 bits. ok is false for other types.
func integers(t reflect.Type) (low, high any, ok bool) {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if bits := t.Bits(); bits < 64 {
			return -1 << (bits - 1), 1<<(bits-1) - 1, true
		}
		return nil, nil, true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if bits := t.Bits(); bits < 64 {
			return 0, uint64(math.MaxUint64) >> (64 - bits), true
		}
		return 0, nil, true
	}
	return nil, nil, false
}

// composite returns the schema of a type that may contain itself.
func (w *typeWriter) composite(t reflect.Type) (*typeSchema, error) {
	w.open[t]++
	defer func() { w.open[t]-- }()
	switch t.Kind() {
	case reflect.Struct:
		return w.object(t)
	case reflect.Map:
		return w.mapping(t)
	}
	return w.list(t)
}

// list returns the schema of a slice or an array. Bytes with a JSON form of their own are not base64.
func (w *typeWriter) list(t reflect.Type) (*typeSchema, error) {
	element := reflect.PointerTo(t.Elem())
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 &&
		!element.Implements(jsonUnmarshaler) && !element.Implements(textUnmarshaler) {
		return &typeSchema{Type: "string", ContentEncoding: "base64"}, nil
	}
	items, err := w.schema(t.Elem())
	if err != nil {
		return nil, err
	}
	if t.Kind() == reflect.Array {
		return &typeSchema{Type: "array", Items: items, MinItems: new(t.Len()), MaxItems: new(t.Len())}, nil
	}
	return &typeSchema{Type: "array", Items: items}, nil
}

// mapping returns the schema of a map, whose keys encoding/json must be able to read from strings.
func (w *typeWriter) mapping(t reflect.Type) (*typeSchema, error) {
	_, _, isInteger := integers(t.Key())
	if t.Key().Kind() != reflect.String && !isInteger && !reflect.PointerTo(t.Key()).Implements(textUnmarshaler) {
		return nil, fmt.Errorf("%v has keys that are not strings", t)
	}
	values, err := w.schema(t.Elem())
	if err != nil {
		return nil, err
	}
	return &typeSchema{Type: "object", AdditionalProperties: values}, nil
}

// object returns the schema of a struct.
func (w *typeWriter) object(t reflect.Type) (*typeSchema, error) {
	properties := []byte{'{'}
	var required []string
	for _, f := range structFields(t) {
		property, err := w.property(f)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		written, err := jsonrpc.Marshal(property)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		properties = jsonrpc.AppendMember(properties, f.name, written)
		if !f.optional {
			required = append(required, f.name)
		}
	}
	return &typeSchema{
		Type: "object", Properties: jsonrpc.CloseObject(properties), Required: required, AdditionalProperties: false,
	}, nil
}
