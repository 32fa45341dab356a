package adapter

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// dialect converts a root that was written for a profile back to JSON Schema.
func dialect(p profile.Profile, root map[string]any) map[string]any {
	switch p {
	case profile.Gemini:
		return objects(root, fromGemini).(map[string]any)
	case profile.LlamaCpp:
		return objects(root, fromLlama).(map[string]any)
	}
	return root
}

// objects returns a copy of a value, in which change has changed each object.
func objects(v any, change func(out map[string]any)) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			out[key] = objects(member, change)
		}
		change(out)
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = objects(item, change)
		}
		return out
	}
	return v
}

// fromLlama removes what llama.cpp does not read beside a reference.
func fromLlama(s map[string]any) {
	if _, ok := s["$ref"].(string); ok {
		maps.DeleteFunc(s, func(key string, _ any) bool { return key != "$ref" && key != "$defs" && key != "definitions" })
	}
}

// fromGemini converts nullable, and closes objects with described properties.
func fromGemini(s map[string]any) {
	kind, typed := s["type"].(string)
	if typed && s["nullable"] == true {
		s["type"] = []any{kind, "null"}
		if values := tree.List(s["enum"]); values != nil {
			s["enum"] = append(slices.Clone(values), nil)
		}
	}
	if kind == "object" {
		s["additionalProperties"] = false
	}
}

// maxHops bounds the references from one subschema to the next.
const maxHops = 16

// relaxed returns a copy of a schema without the keywords that the changes call wider, each removed at its path.
func relaxed(root map[string]any, changes []profile.Change) map[string]any {
	r := relaxer{root}
	out := any(root)
	for _, c := range changes {
		if c.Effect != "wider" {
			continue
		}
		var segments []string
		if c.Path != "" {
			segments = strings.Split(c.Path[1:], "/")
		}
		out = r.at(out, segments, c.Keyword, maxHops)
	}
	return out.(map[string]any)
}

type relaxer struct{ root map[string]any }

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// at removes a keyword at a path below v. The parts of an allOf and the target of a reference have
// the same path as their subschema. A target is copied first, because it may have other users.
func (r relaxer) at(v any, segments []string, keyword string, hops int) any {
	if items, ok := v.([]any); ok && len(segments) > 0 {
		i, err := strconv.Atoi(segments[0])
		if err != nil || i >= len(items) {
			return v
		}
		items = slices.Clone(items)
		items[i] = r.at(items[i], segments[1:], keyword, hops)
		return items
	}
	s, ok := v.(map[string]any)
	if !ok || hops == 0 {
		return v
	}
	out := maps.Clone(s)
	if len(segments) == 0 {
		if keyword == "" {
			return map[string]any{}
		}
		for _, key := range demands(s, keyword) {
			delete(out, key)
		}
	} else if key := unescape.Replace(segments[0]); out[key] != nil {
		out[key] = r.at(out[key], segments[1:], keyword, hops)
		if key == "allOf" || key == "$ref" {
			return out
		}
		// A property may be written with the subschemas of its patterns.
		if patterns := tree.Object(out["patternProperties"]); key == "properties" && patterns != nil {
			out["patternProperties"] = r.patterns(patterns, unescape.Replace(segments[1]), segments[2:], keyword, hops)
		}
	}
	// An alternative may be written with the keywords beside it.
	isAlternative := len(segments) > 1 && (segments[0] == "anyOf" || segments[0] == "oneOf")
	if isAlternative && out["$ref"] == nil && (len(segments) > 2 || keyword != "") {
		out = tree.Object(r.at(out, segments[2:], keyword, hops-1))
	}
	if parts := tree.List(out["allOf"]); parts != nil {
		inside := make([]any, len(parts))
		for i, part := range parts {
			inside[i] = r.at(part, segments, keyword, hops-1)
		}
		out["allOf"] = inside
	}
	if ref, ok := out["$ref"].(string); ok {
		delete(out, "$ref")
		target, _ := (&tree.Document{Root: r.root}).Resolve(ref)
		if len(out) == 0 {
			return r.at(target, segments, keyword, hops-1)
		}
		out["allOf"] = append(slices.Clone(tree.List(out["allOf"])), r.at(target, segments, keyword, hops-1))
	}
	return out
}

// patterns removes a keyword from the patterns that match a property.
func (r relaxer) patterns(all map[string]any, name string, segments []string, keyword string, hops int) map[string]any {
	out := maps.Clone(all)
	for pattern, says := range all {
		if matches, _ := (&tree.Document{Left: 1 << 10}).Matches(pattern, name); matches {
			out[pattern] = r.at(says, segments, keyword, hops-1)
		}
	}
	return out
}

// demands returns the names that a keyword may have in s, by its draft.
func demands(s map[string]any, keyword string) []string {
	_, draft4Low := s["exclusiveMinimum"].(bool)
	_, draft4High := s["exclusiveMaximum"].(bool)
	switch {
	case keyword == "if":
		return []string{"if", "then", "else"}
	case keyword == "prefixItems": // the others go by the place, too
		return []string{"prefixItems", "items", "additionalItems"}
	case keyword == "items" && tree.List(s["items"]) != nil:
		return []string{"additionalItems", "unevaluatedItems"}
	case keyword == "items":
		return []string{"items", "unevaluatedItems"}
	case draft4Low && strings.HasSuffix(keyword, "inimum"):
		return []string{"minimum", "exclusiveMinimum"}
	case draft4High && strings.HasSuffix(keyword, "aximum"):
		return []string{"maximum", "exclusiveMaximum"}
	case keyword == "enum":
		return []string{"enum", "const"}
	}
	return []string{keyword}
}
