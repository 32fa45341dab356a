package schema

import (
	"encoding/json"
	"slices"

	"github.com/kaptinlin/jsonschema"
)

// maxSteps bounds the work of one check, in applications of a subschema to a
// part of the value: subschemas that refer to each other can multiply it.
const maxSteps = 1 << 18

// What is as much work as one step.
const (
	valuesPerStep  = 4   // that are compared, or names that are looked up
	textPerStep    = 256 // bytes of enumerated text, which an error repeats, and of a value, which the validator quotes
	matchedPerStep = 64  // bytes that a pattern is matched with
)

// work foresees how many steps the validator will take, without doing them.
type work struct {
	left  int
	enums map[*jsonschema.Schema]int // steps of comparing with enumerated values
}

// own counts what one subschema says of v itself.
func (w *work) own(s *jsonschema.Schema, v any) bool {
	w.left--
	if len(s.Enum) > 0 {
		steps, known := w.enums[s]
		if !known {
			values, text := size(s.Enum)
			steps = values/valuesPerStep + text/textPerStep
			if w.enums == nil {
				w.enums = map[*jsonschema.Schema]int{}
			}
			w.enums[s] = steps
		}
		w.left -= steps
	}
	switch v := v.(type) {
	case string:
		w.left -= len(v) / textPerStep
		if s.Pattern != nil {
			w.left -= len(v) / matchedPerStep
		}
	case map[string]any:
		names := len(s.Required)
		if s.Properties != nil {
			names += len(*s.Properties)
		}
		for name := range v {
			names += len(s.DependentRequired[name])
		}
		w.left -= names / valuesPerStep
	}
	return w.left >= 0
}

// size counts the values of a list, with all inside, and the bytes of their text.
func size(all []any) (values, text int) {
	for _, v := range all {
		values++
		switch v := v.(type) {
		case string:
			text += len(v)
		case json.Number:
			text += len(v)
		case []any:
			n, inside := size(v)
			values, text = values+n, text+inside
		case map[string]any:
			for name, member := range v {
				n, inside := size([]any{member})
				values, text = values+n, text+inside+len(name)
			}
		}
	}
	return values, text
}

// apply counts the application of s to v; same are the schemas that are being
// applied to v already, which the validator does not apply again.
func (w *work) apply(s *jsonschema.Schema, v any, same []*jsonschema.Schema) bool {
	if s == nil {
		return true
	}
	if !w.own(s, v) {
		return false
	}
	if slices.Contains(same, s) {
		return true
	}
	same = append(same, s)
	for _, sub := range []*jsonschema.Schema{s.ResolvedRef, s.ResolvedDynamicRef, s.Not, s.If, s.Then, s.Else} {
		if !w.apply(sub, v, same) {
			return false
		}
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, sub := range list {
			if !w.apply(sub, v, same) {
				return false
			}
		}
	}
	for _, sub := range s.DependentSchemas {
		if !w.apply(sub, v, same) {
			return false
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return w.object(s, v)
	case []any:
		return w.array(s, v)
	}
	return true
}

func (w *work) object(s *jsonschema.Schema, v map[string]any) bool {
	for name, member := range v {
		if s.Properties != nil && !w.apply((*s.Properties)[name], member, nil) {
			return false
		}
		if s.PatternProperties != nil {
			w.left -= len(name) / matchedPerStep * len(*s.PatternProperties)
			for _, sub := range *s.PatternProperties {
				if !w.apply(sub, member, nil) {
					return false
				}
			}
		}
		if !w.apply(s.AdditionalProperties, member, nil) || !w.apply(s.UnevaluatedProperties, member, nil) ||
			!w.apply(s.PropertyNames, name, nil) {
			return false
		}
	}
	return true
}

func (w *work) array(s *jsonschema.Schema, v []any) bool {
	for i, item := range v {
		if i < len(s.PrefixItems) && !w.apply(s.PrefixItems[i], item, nil) {
			return false
		}
		if !w.apply(s.Items, item, nil) || !w.apply(s.Contains, item, nil) || !w.apply(s.UnevaluatedItems, item, nil) {
			return false
		}
	}
	return true
}
