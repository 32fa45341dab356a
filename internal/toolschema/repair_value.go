package toolschema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// enumValue returns text if it is one of values, and else the value that it spells.
func (r *repair) enumValue(values []any, text string) any {
	if len(values) == 0 || slices.ContainsFunc(values, func(v any) bool { return v == any(text) }) {
		return text
	}
	spelled, ok := r.decode(text)
	if !ok {
		return text
	}
	for _, v := range values {
		if r.same(v, spelled) {
			return v
		}
	}
	return text
}

// convert changes v, which has none of types, to one of them. It tries the value that a string
// spells before a list with one item.
func (r *repair) convert(types []string, v any) any {
	switch v := v.(type) {
	case string:
		if w, ok := r.parseAs(types, strings.TrimSpace(v)); ok {
			return w
		}
	case json.Number:
		if slices.Contains(types, "string") {
			return v.String()
		}
	case bool:
		if slices.Contains(types, "string") {
			return strconv.FormatBool(v)
		}
	case []any:
		if object, ok := entries(v); ok && slices.Contains(types, "object") {
			return object
		}
	case nil:
		return v
	}
	if slices.Contains(types, "array") {
		return []any{v}
	}
	return v
}

// entries converts a list of names and values, which some profiles ask for, to an object. The last value of a repeated
// name counts. If an entry has both a value and JSON, the JSON counts unless it is empty.
func entries(items []any) (map[string]any, bool) {
	out := make(map[string]any, len(items))
	for _, item := range items {
		entry, _ := item.(map[string]any)
		name, ok := entry[rewrite.EntryName].(string)
		value, hasValue := entry[rewrite.EntryValue]
		text, hasJSON := entry[rewrite.EntryJSON].(string)
		known := 1
		if hasValue {
			known++
		}
		if hasJSON {
			known++
		}
		if !ok || known != len(entry) {
			return nil, false
		}
		if strings.TrimSpace(text) != "" {
			value = insideString(text)[0]
		}
		out[name] = value
	}
	return out, true
}

// parseAs parses text as a value of one of types.
func (r *repair) parseAs(types []string, text string) (any, bool) {
	if slices.Contains(types, "boolean") {
		switch strings.ToLower(text) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	v, ok := r.decode(text)
	if !ok || !fitsAny(types, v) {
		return nil, false
	}
	return v, true
}

// decode parses text as JSON. It returns false for other text, and if parsing would exceed the steps.
func (r *repair) decode(text string) (any, bool) {
	if !r.doc.Spend(1 + len(text)/16) {
		return nil, false
	}
	v, err := schema.Decode([]byte(text))
	return v, err == nil
}

// allowedTypes returns the types that a subschema allows, by its type keyword or its enumerated values. None means all.
func allowedTypes(sub map[string]any) []string {
	if types := tree.Types(sub); len(types) > 0 {
		return types
	}
	var types []string
	for _, v := range tree.Constants(sub) {
		types = append(types, tree.TypeOf(v))
	}
	return types
}

// fitsAny reports whether v has one of types. No types means any type.
func fitsAny(types []string, v any) bool {
	if len(types) == 0 {
		return true
	}
	name := tree.TypeOf(v)
	return slices.Contains(types, name) || name == "integer" && slices.Contains(types, "number")
}

// same reports whether two values are equal; 1 equals 1.0. It returns false if comparing would exceed the steps.
func (r *repair) same(v, w any) bool {
	if !r.doc.Spend(1) {
		return false
	}
	switch v := v.(type) {
	case json.Number:
		w, ok := w.(json.Number)
		return ok && tree.Identity(v) == tree.Identity(w)
	case []any:
		w, ok := w.([]any)
		return ok && slices.EqualFunc(v, w, r.same)
	case map[string]any:
		w, ok := w.(map[string]any)
		return ok && maps.EqualFunc(v, w, r.same)
	}
	switch w.(type) {
	case []any, map[string]any:
		return false
	}
	return v == w
}
