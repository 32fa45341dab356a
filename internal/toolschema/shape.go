package toolschema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// shape summarizes a tool's parameters.
type shape struct {
	properties map[string]any
	required   []string
	only       string // the parameter that a bare value is for, "" if there are several
}

// newShape returns the shape of a schema's root.
func newShape(root map[string]any) shape {
	s := shape{properties: tree.Object(root["properties"]), required: tree.Strings(root["required"])}
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

func (s shape) has(name string) bool {
	_, ok := s.properties[name]
	return ok
}

// sortedNames returns the names of the parameters: required ones in the schema's order, then others by name.
func (s shape) sortedNames() []string {
	names := slices.Clone(s.required)
	for _, name := range tree.Keys(s.properties) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// names returns the parameters for the text of an error.
func (s shape) names() string {
	names := s.sortedNames()
	if len(names) == 0 {
		return "no properties"
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%q", excerpt.Limit(name, 100))
	}
	return "the properties " + excerpt.Limit(strings.Join(names, ", "), 500)
}

// list describes the parameters, one on each line.
func (s shape) list() string {
	var b strings.Builder
	for _, name := range s.sortedNames() {
		property := tree.Object(s.properties[name])
		fmt.Fprintf(&b, "\n- %s", excerpt.Limit(name, 100))
		var facts []string
		if types := tree.Types(property); len(types) > 0 {
			facts = append(facts, strings.Join(types, " or "))
		}
		if slices.Contains(s.required, name) {
			facts = append(facts, "required")
		}
		if len(facts) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(facts, ", "))
		}
		if description := tree.Text(property["description"]); description != "" {
			fmt.Fprintf(&b, ": %s", excerpt.Limit(strings.Join(strings.Fields(description), " "), 100))
		}
	}
	return b.String()
}
