package toolschema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// field describes a field of a struct, as encoding/json decodes it.
type field struct {
	reflect.StructField
	name     string // name of the property
	tagged   bool   // the name is from the tag
	optional bool
	quoted   bool // the value, a scalar, is inside a string
	depth    int  // depth of embedding
}

// structFields returns the fields that encoding/json decodes in a struct, and in its embedded structs. As in encoding/json,
// of several fields with the same name the shallowest counts, or else the only one with a tag, or else none.
func structFields(t reflect.Type) []field {
	all := collect(nil, t, 0, map[reflect.Type]bool{})
	return slices.DeleteFunc(slices.Clone(all), func(f field) bool {
		return slices.ContainsFunc(all, func(other field) bool {
			return other.name == f.name && !slices.Equal(other.Index, f.Index) && !f.hides(other)
		})
	})
}

// hides reports whether a field takes precedence over another with the same name.
func (f field) hides(other field) bool {
	if f.depth != other.depth {
		return f.depth < other.depth
	}
	return f.tagged && !other.tagged
}

// collect appends the fields of t, which is embedded at depth in the structs of outer.
func collect(out []field, t reflect.Type, depth int, outer map[reflect.Type]bool) []field {
	if outer[t] {
		return out
	}
	outer[t] = true
	defer delete(outer, t)
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch embedded := f.Anonymous && inner.Kind() == reflect.Struct; {
		case f.Tag.Get("json") == "-" || !f.IsExported() && !embedded:
			continue
		case embedded && tag == "":
			from := len(out)
			out = collect(out, inner, depth+1, outer)
			for k := range out[from:] { // structFields compares indexes
				out[from+k].Index = append([]int{i}, out[from+k].Index...)
			}
			continue
		case !f.IsExported():
			continue
		}
		has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
		name := tag
		if name == "" {
			name = f.Name
		}
		out = append(out, field{
			StructField: f, name: name, tagged: tag != "", depth: depth, quoted: has("string") && isScalar(inner),
			optional: has("omitempty") || has("omitzero") || f.Type.Kind() == reflect.Pointer,
		})
	}
	return out
}

// isScalar reports whether encoding/json reads a type of this kind from inside a string.
func isScalar(t reflect.Type) bool {
	_, _, isInteger := integers(t)
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64:
		return true
	}
	return isInteger
}

// property returns the schema of a field.
func (w *typeWriter) property(f field) (json.RawMessage, error) {
	schema, err := w.schema(f.Type)
	if err != nil {
		return nil, err
	}
	if f.quoted {
		schema = keywords("type", "string")
	}
	if values := f.Tag.Get("enum"); values != "" {
		if schema, err = enumerate(schema, strings.Split(values, ",")); err != nil {
			return nil, err
		}
	}
	more := map[string]any{}
	for _, bound := range []string{"minimum", "maximum"} {
		text, ok := f.Tag.Lookup(bound)
		if !ok {
			continue
		}
		kind, _ := jsonrpc.String(jsonrpc.Lookup(schema, "type"))
		var number json.Number
		switch err := json.Unmarshal([]byte(text), &number); {
		case err != nil, text != number.String():
			return nil, fmt.Errorf("%s %q is not a JSON number", bound, text)
		case kind != "integer" && kind != "number":
			return nil, fmt.Errorf("tag %s is for numbers, not for %s", bound, schema)
		}
		more[bound] = number
	}
	if text := f.Tag.Get("jsonschema"); text != "" {
		more["description"] = text
	}
	return with(schema, more), nil
}

// enumerate limits a schema of strings, or of lists of strings, to values.
func enumerate(schema json.RawMessage, values []string) (json.RawMessage, error) {
	var s struct {
		Type  string
		Items json.RawMessage
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	switch s.Type {
	case "string":
		return with(schema, map[string]any{"enum": values}), nil
	case "array":
		items, err := enumerate(s.Items, values)
		return with(schema, map[string]any{"items": items}), err
	}
	return nil, fmt.Errorf("tag enum is for strings, not for %s", schema)
}

// keywordOrder lists the keywords of our schemas in the order in which they are written.
var keywordOrder = strings.Fields("description $ref type format contentEncoding enum minimum maximum items minItems maxItems " +
	"properties required additionalProperties")

// with returns a schema with more keywords, which replace those of the same name. Each must be in keywordOrder.
func with(schema json.RawMessage, more map[string]any) json.RawMessage {
	var all []any
	var known map[string]json.RawMessage
	_ = json.Unmarshal(schema, &known) // it is ours
	for _, keyword := range keywordOrder {
		if value, ok := more[keyword]; ok {
			all = append(all, keyword, value)
		} else if value, ok := known[keyword]; ok {
			all = append(all, keyword, value)
		}
	}
	return keywords(all...)
}
