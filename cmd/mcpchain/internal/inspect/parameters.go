package inspect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxParameters bounds the shown parameters of one tool.
const maxParameters = 50

// parameters are lines on the parameters of a tool, the required ones first.
func parameters(schema json.RawMessage) (lines []string) {
	var root struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if json.Unmarshal(schema, &root) != nil {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(root.Properties), func(a, b string) int {
		if needed := slices.Contains(root.Required, a); needed != slices.Contains(root.Required, b) {
			if needed {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		if i == maxParameters {
			return append(lines, fmt.Sprintf("… %d more", len(names)-i))
		}
		optional := ", optional"
		if slices.Contains(root.Required, name) {
			optional = ""
		}
		lines = append(lines, described(line(name)+" ("+line(typeOf(root.Properties[name]))+optional+")", descriptionOf(root.Properties[name])))
	}
	return lines
}

// typeOf is the type of a parameter in a few words.
func typeOf(schema json.RawMessage) string {
	var p struct {
		Type any
		Enum []any
	}
	_ = json.Unmarshal(schema, &p)
	if len(p.Enum) > 0 {
		raw, _ := json.Marshal(p.Enum)
		return "one of " + strings.Trim(string(raw), "[]")
	}
	switch t := p.Type.(type) {
	case string:
		return t
	case []any:
		var names []string
		for _, name := range t {
			names = append(names, fmt.Sprint(name))
		}
		return strings.Join(names, " or ")
	}
	return "any"
}

func descriptionOf(schema json.RawMessage) string {
	var p struct{ Description string }
	_ = json.Unmarshal(schema, &p)
	return p.Description
}
