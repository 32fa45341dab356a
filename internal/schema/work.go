package schema

import (
	"slices"

	"github.com/kaptinlin/jsonschema"
)

// maxSteps bounds the work of one check, in applications of a subschema to a
// part of the value: references between subschemas can multiply it.
const maxSteps = 1 << 17

// work counts the validator's steps in advance. The validator itself has neither a bound nor a
// context, and a peer writes both the schema and the value.
type work struct {
	left  int                        // steps that may still be spent; -1 once there are too few
	depth int                        // enclosing applications; the validator searches them all each time
	fixed map[*jsonschema.Schema]int // steps of a subschema for any value
	sizes map[string]int             // sizes of patterns, in instructions
}

// spend spends steps, and returns false if too few are left. Then left is -1, and stays so.
func (w *work) spend(n int) bool {
	w.left -= min(n, w.left+1)
	return w.left >= 0
}

// apply counts the application of s to v. same lists the schemas that are being applied to v; the validator does not apply
// them again. A dynamic reference has one target only: see document.dynamicAnchors.
func (w *work) apply(s *jsonschema.Schema, v any, same []*jsonschema.Schema) bool {
	if s == nil {
		return true
	}
	if !w.countKeywords(s, v) {
		return false
	}
	if slices.Contains(same, s) {
		return true
	}
	same = append(same, s)
	w.depth++
	defer func() { w.depth-- }()
	for _, list := range [][]*jsonschema.Schema{
		{s.ResolvedRef, s.ResolvedDynamicRef, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf,
	} {
		for _, sub := range list {
			if !w.apply(sub, v, same) {
				return false
			}
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return w.dependents(s, v, same) && w.object(s, v)
	case []any:
		return w.array(s, v)
	}
	return true
}

// dependents counts the applications of the subschemas that depend on a member of v.
func (w *work) dependents(s *jsonschema.Schema, v map[string]any, same []*jsonschema.Schema) bool {
	for name, sub := range s.DependentSchemas {
		if _, present := v[name]; present && !w.apply(sub, v, same) {
			return false
		}
	}
	return true
}

// object counts the applications of the rules for members to the members of v.
func (w *work) object(s *jsonschema.Schema, v map[string]any) bool {
	if !hasMemberRules(s) {
		return true
	}
	place := locationSteps(s)
	for name, member := range v {
		if !w.spend(place + len(name)/namesPerStep) {
			return false
		}
		if s.Properties != nil && !w.apply((*s.Properties)[name], member, nil) {
			return false
		}
		if s.PatternProperties != nil {
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
	if s.Properties == nil {
		return true
	}
	for _, name := range s.Required { // a missing member counts as null
		if _, present := v[name]; !present && !w.apply((*s.Properties)[name], nil, nil) {
			return false
		}
	}
	return true
}

// hasMemberRules reports whether s has rules for the members of objects.
func hasMemberRules(s *jsonschema.Schema) bool {
	return s.Properties != nil || s.PatternProperties != nil || s.AdditionalProperties != nil ||
		s.UnevaluatedProperties != nil || s.PropertyNames != nil
}

// hasItemRules reports whether s has rules for items.
func hasItemRules(s *jsonschema.Schema) bool {
	return s.Items != nil || s.Contains != nil || s.UnevaluatedItems != nil
}

// array counts the applications of the rules for items to the items of v.
func (w *work) array(s *jsonschema.Schema, v []any) bool {
	if !hasItemRules(s) {
		v = v[:min(len(v), len(s.PrefixItems))]
	}
	place := locationSteps(s)
	for i, item := range v {
		if !w.spend(place) {
			return false
		}
		if i < len(s.PrefixItems) && !w.apply(s.PrefixItems[i], item, nil) {
			return false
		}
		if !w.apply(s.Items, item, nil) || !w.apply(s.Contains, item, nil) || !w.apply(s.UnevaluatedItems, item, nil) {
			return false
		}
	}
	return true
}
