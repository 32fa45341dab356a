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
func (w *typeWriter) property(f field) (json.RawMessage, error) {
	schema, err := w.schema(f.Type)
	if err != nil {
		return nil, err
	}
	if f.quoted {
		if schema, err = quote(schema); err != nil {
			return nil, err
		}
	}
	if values := f.Tag.Get("enum"); values != "" {
		if schema, err = f.enumerate(schema, strings.Split(values, ","), 0); err != nil {
			return nil, err
		}
	}
	more, err := bounds(f.Tag, schema)
	if err != nil {
		return nil, err
	}
	if text := f.Tag.Get("jsonschema"); text != "" {
		more["description"] = text
	}
	return with(schema, more), nil
}

// bounds returns the keywords of the tags minimum and maximum. They are for numbers, and not wider than the bounds of the type.
func bounds(tag reflect.StructTag, schema json.RawMessage) (map[string]any, error) {
	s := struct {
		Type             string
		Minimum, Maximum float64
	}{Minimum: math.Inf(-1), Maximum: math.Inf(1)}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, bound := range []string{"minimum", "maximum"} {
		text, ok := tag.Lookup(bound)
		if !ok {
			continue
		}
		var number json.Number
		if err := json.Unmarshal([]byte(text), &number); err != nil || text != number.String() { // it may also be a string, or null
			return nil, fmt.Errorf("%s %q is not a JSON number", bound, text)
		}
		value, _ := number.Float64() // infinite if it is too large
		switch {
		case s.Type != "integer" && s.Type != "number":
			return nil, fmt.Errorf("tag %s is for numbers, not for %s", bound, schema)
		case value < s.Minimum || value > s.Maximum:
			return nil, fmt.Errorf("%s %s is not from %v to %v", bound, text, s.Minimum, s.Maximum)
		case bound == "minimum":
			s.Minimum = value
		}
		out[bound] = number
	}
	return out, nil
}

// quote returns the schema of a value that is inside a string. A text there would need quotes of its own.
func quote(schema json.RawMessage) (json.RawMessage, error) {
	var s struct{ Type string }
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	switch s.Type {
	case "boolean":
		return keywords("type", "string", "enum", []string{"true", "false"}), nil
	case "integer":
		return keywords("type", "string", "pattern", "^-?[0-9]+$"), nil
	case "number":
		return keywords("type", "string", "pattern", `^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$`), nil
	case "string":
		return nil, errors.New("the option string of the tag json is for numbers and booleans")
	}
	return keywords("type", "string"), nil
}

// enumerate limits a schema of strings, or of lists of strings, to values, which the field must be able to hold. The schema
// is inside that many lists.
func (f field) enumerate(schema json.RawMessage, values []string, lists int) (json.RawMessage, error) {
	var s struct {
		Type  string
		Items json.RawMessage
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	switch s.Type {
	case "string":
		for _, value := range values {
			if err := f.decode(value, lists); err != nil {
				return nil, fmt.Errorf("enum %q: %w", value, err)
			}
		}
		return with(schema, map[string]any{"enum": values}), nil
	case "array":
		items, err := f.enumerate(s.Items, values, lists+1)
		return with(schema, map[string]any{"items": items}), err
	}
	return nil, fmt.Errorf("tag enum is for strings, not for %s", schema)
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
