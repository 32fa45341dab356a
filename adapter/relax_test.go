package adapter

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// relaxed is a schema without what the changes say that a model is not held to,
// each at the very place that the change names. The schema stays as it is.
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

// at takes a keyword out at a place below v. At the same place as a subschema are
// the parts of its allOf and what it refers to: that is written in full, so that
// other users of it are not concerned.
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
		// A property is written with what patterns say of it.
		if patterns := asMap(out["patternProperties"]); key == "properties" && patterns != nil {
			out["patternProperties"] = r.patterns(patterns, unescape.Replace(segments[1]), segments[2:], keyword, hops)
		}
	}
	// An alternative is written with what stands beside it.
	isAlternative := len(segments) > 1 && (segments[0] == "anyOf" || segments[0] == "oneOf")
	if isAlternative && out["$ref"] == nil && (len(segments) > 2 || keyword != "") {
		out = asMap(r.at(out, segments[2:], keyword, hops-1))
	}
	if parts := list(out["allOf"]); parts != nil {
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
		out["allOf"] = append(slices.Clone(list(out["allOf"])), r.at(target, segments, keyword, hops-1))
	}
	return out
}

// patterns takes a keyword out of what patterns say of a property.
func (r relaxer) patterns(all map[string]any, name string, segments []string, keyword string, hops int) map[string]any {
	out := maps.Clone(all)
	for pattern, says := range all {
		if matches, _ := (&tree.Document{Left: 1 << 10}).Matches(pattern, name); matches {
			out[pattern] = r.at(says, segments, keyword, hops-1)
		}
	}
	return out
}

// demands lists what a keyword is in s, whose draft may call it otherwise.
func demands(s map[string]any, keyword string) []string {
	_, draft4Low := s["exclusiveMinimum"].(bool)
	_, draft4High := s["exclusiveMaximum"].(bool)
	switch {
	case keyword == "if":
		return []string{"if", "then", "else"}
	case keyword == "prefixItems": // the others go by the place, too
		return []string{"prefixItems", "items", "additionalItems"}
	case keyword == "items" && list(s["items"]) != nil:
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
