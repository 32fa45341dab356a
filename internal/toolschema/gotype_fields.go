package toolschema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// field describes a field of a struct, as encoding/json decodes it.
type field struct {
	reflect.StructField
	name     string // name of the property
	tagged   bool   // the name is from the tag
	optional bool
	quoted   bool // the value, a scalar, is inside a string
}

// structFields returns the fields that encoding/json decodes in a struct, and in its embedded structs. As in encoding/json,
// of several fields with the same name the shallowest counts, or else the only one with a tag, or else none.
func structFields(t reflect.Type) []field {
	all := collect(nil, t, map[reflect.Type]bool{})
	return slices.DeleteFunc(slices.Clone(all), func(f field) bool {
		return slices.ContainsFunc(all, func(other field) bool {
			return other.name == f.name && !slices.Equal(other.Index, f.Index) && !f.hides(other)
		})
	})
}

// hides reports whether a field takes precedence over another with the same name.
func (f field) hides(other field) bool {
	if len(f.Index) != len(other.Index) { // the depths of embedding
		return len(f.Index) < len(other.Index)
	}
	return f.tagged && !other.tagged
}

// collect appends the fields of t, which is embedded in the structs of outer.
func collect(out []field, t reflect.Type, outer map[reflect.Type]bool) []field {
	if outer[t] {
		return out
	}
	outer[t] = true
	defer delete(outer, t)
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		inner := f.Type
		if inner.Kind() == reflect.Pointer && inner.Name() == "" {
			inner = inner.Elem()
		}
		isEmbedded := f.Anonymous && inner.Kind() == reflect.Struct
		if tag == "-" || !f.IsExported() && (!isEmbedded || inner != f.Type) { // such a pointer cannot be set
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if strings.ContainsFunc(name, isForbidden) {
			name = ""
		}
		if isEmbedded && name == "" {
			from := len(out)
			out = collect(out, inner, outer)
			for k := range out[from:] { // structFields compares indexes
				out[from+k].Index = append([]int{i}, out[from+k].Index...)
			}
			continue
		}
		has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
		out = append(out, field{
			StructField: f, name: cmp.Or(name, f.Name), tagged: name != "", quoted: has("string") && isScalar(inner),
			optional: has("omitempty") || has("omitzero") || f.Type.Kind() == reflect.Pointer,
		})
	}
	return out
}

// isForbidden reports whether encoding/json ignores a name with this character in a tag.
func isForbidden(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r)
}

// isScalar reports whether encoding/json can read values of a type from inside a string.
func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64:
		return true
	}
	_, _, isInteger := integers(t)
	return isInteger
}

// property returns the schema of a field.
func (w *typeWriter) property(f field) (*typeSchema, error) {
	s, err := w.schema(f.Type)
	if err != nil {
		return nil, err
	}
	if f.quoted {
		if s, err = quote(s); err != nil {
			return nil, err
		}
	}
	if values := f.Tag.Get("enum"); values != "" {
		if err := f.enumerate(s, strings.Split(values, ","), 0); err != nil {
			return nil, err
		}
	}
	if text := f.Tag.Get("jsonschema"); text != "" {
		s.Description = text
	}
	return s, f.setBounds(s)
}

// quote returns the schema of a value that is inside a string. A text there would need quotes of its own.
func quote(s *typeSchema) (*typeSchema, error) {
	switch s.Type {
	case "boolean":
		return &typeSchema{Type: "string", Enum: []string{"true", "false"}}, nil
	case "integer":
		return &typeSchema{Type: "string", Pattern: "^-?[0-9]+$"}, nil
	case "number":
		return &typeSchema{Type: "string", Pattern: `^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`}, nil
	case "string":
		return nil, errors.New("the option string of the tag json is for numbers and booleans")
	}
	return &typeSchema{Type: "string"}, nil
}

// setBounds sets the keywords of the tags minimum and maximum. They are for numbers, and not wider than the bounds of the type.
func (f field) setBounds(s *typeSchema) error {
	low, high := boundOf(s.Minimum, math.Inf(-1)), boundOf(s.Maximum, math.Inf(1))
	for _, bound := range []string{"minimum", "maximum"} {
		text, ok := f.Tag.Lookup(bound)
		if !ok {
			continue
		}
		var number json.Number
		if err := json.Unmarshal([]byte(text), &number); err != nil || text != number.String() { // it may also be a string, or null
			return fmt.Errorf("%s %q is not a JSON number", bound, text)
		}
		value, _ := number.Float64() // infinite if it is too large
		switch {
		case s.Type != "integer" && s.Type != "number":
			return fmt.Errorf("tag %s is for numbers, not for %v", bound, f.Type)
		case value < low || value > high:
			return fmt.Errorf("%s %s is not from %v to %v", bound, text, low, high)
		case bound == "minimum":
			low, s.Minimum = value, number
		default:
			s.Maximum = number
		}
	}
	return nil
}

// boundOf returns a bound of an integer type, or the given one if there is none.
func boundOf(bound any, none float64) float64 {
	if bound == nil {
		return none
	}
	return reflect.ValueOf(bound).Convert(reflect.TypeFor[float64]()).Float()
}

// enumerate limits a schema of strings, or of lists of strings, to values, which the field must be able to hold. The schema
// is inside that many lists.
func (f field) enumerate(s *typeSchema, values []string, lists int) error {
	if s.Items != nil {
		return f.enumerate(s.Items, values, lists+1)
	}
	if s.Type != "string" {
		return fmt.Errorf("tag enum is for strings, not for %v", f.Type)
	}
	for _, value := range values {
		if err := f.decode(value, lists); err != nil {
			return fmt.Errorf("enum %q: %w", value, err)
		}
	}
	s.Enum = values
	return nil
}

// decode returns the error of encoding/json for a text, inside that many lists, as the value of the field.
func (f field) decode(text string, lists int) error {
	var value any = text
	for range lists {
		value = []any{value}
	}
	raw, err := jsonrpc.Marshal(map[string]any{f.name: value})
	if err != nil {
		return err
	}
	holder := reflect.StructOf([]reflect.StructField{{Name: f.Name, Type: f.Type, Tag: f.Tag}})
	return json.Unmarshal(raw, reflect.New(holder).Interface())
}
