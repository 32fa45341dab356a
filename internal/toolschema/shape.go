package toolschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shape is an overview of a tool's parameters.
type shape struct {
	properties map[string]any
	required   []string
	only       string // the parameter for a bare value, "" if there are several
}

func shapeOf(root map[string]any) shape {
	var s shape
	s.properties, _ = root["properties"].(map[string]any)
	s.required = stringList(root["required"])
	switch {
	case len(s.properties) == 1:
		for name := range s.properties {
			s.only = name
		}
	case len(s.required) == 1:
		s.only = s.required[0]
	}
	return s
}

func stringList(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if text, ok := item.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

func (s shape) has(name string) bool {
	_, ok := s.properties[name]
	return ok
}

// ordered lists the parameters: the required ones in the schema's order, then
// the others by name.
func (s shape) ordered() []string {
	names := slices.Clone(s.required)
	for _, name := range slices.Sorted(maps.Keys(s.properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// names lists the parameters for an error.
func (s shape) names() string {
	names := s.ordered()
	if len(names) == 0 {
		return "no properties"
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%q", cut(name, 100))
	}
	return "the properties " + cut(strings.Join(names, ", "), 500)
}

// list describes the parameters, one on each line.
func (s shape) list() string {
	var b strings.Builder
	for _, name := range s.ordered() {
		property, _ := s.properties[name].(map[string]any)
		fmt.Fprintf(&b, "\n- %s", cut(name, 100))
		var facts []string
		if types := typeNames(property["type"]); len(types) > 0 {
			facts = append(facts, strings.Join(types, " or "))
		}
		if slices.Contains(s.required, name) {
			facts = append(facts, "required")
		}
		if len(facts) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(facts, ", "))
		}
		if about, _ := property["description"].(string); about != "" {
			fmt.Fprintf(&b, ": %s", cut(strings.Join(strings.Fields(about), " "), 100))
		}
	}
	return b.String()
}

// typeNames lists the types that a "type" keyword names.
func typeNames(v any) []string {
	if name, ok := v.(string); ok {
		return []string{name}
	}
	return stringList(v)
}
