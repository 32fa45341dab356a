package rewrite

import (
	"slices"
	"strconv"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// alternative is one branch of an anyOf or oneOf.
type alternative struct {
	branch map[string]any
	merged map[string]any // the branch with the keywords beside the union; nil if it is written as JSON text
	at     string         // path of the branch
	via    []hop          // references that led to merged
}

// union writes the alternatives of anyOf or oneOf, which key names. Gemini allows no other keywords beside them, so these
// are merged into each. Alternatives that all enumerate values become one enumeration.
func (g *gemini) union(s map[string]any, key, at string, via []hop) map[string]any {
	all, nullable := g.alternatives(s, key, at, via)
	if nullable {
		g.reportNull(at, key)
	}
	var written map[string]any
	if slices.ContainsFunc(all, func(a alternative) bool { return tree.Constants(a.merged) == nil }) {
		if key == "oneOf" && len(all) > 1 {
			branches := make([]map[string]any, len(all))
			for i, a := range all {
				branches[i] = a.merged
			}
			g.record(at, key, oneOfEffect(g.document.Document, branches), "written as anyOf")
		}
		written = g.branches(all, key, at)
	} else if len(all) > 0 {
		written = g.enumerations(all, s, key, at)
	}
	return g.orNull(written, nullable)
}

// alternatives lists the alternatives that allow some value, except null. nullable reports whether null is one of them.
func (g *gemini) alternatives(s map[string]any, key, at string, via []hop) (all []alternative, nullable bool) {
	base := tree.Without(s, key, "unevaluatedProperties")
	for i, b := range tree.List(s[key]) {
		branch := tree.Object(b)
		path := g.path(branch, tree.Join(at, key, strconv.Itoa(i)), via)
		if kinds := tree.Types(branch); len(kinds) == 1 && kinds[0] == "null" {
			kinds = tree.Types(s)
			nullable = nullable || len(kinds) == 0 || slices.Contains(kinds, "null")
			continue
		}
		part, inner, ok := g.resolveAll(branch, path, via)
		if !ok || !g.work(mergeCost(part)+mergeCost(base)) {
			all = append(all, alternative{branch, nil, path, via})
			continue
		}
		if tree.Never(b) || tree.Never(part) {
			continue
		}
		merged := g.mergeAndReport(part, base, at)
		if tree.Never(merged) {
			continue
		}
		tree.CopyKeys(merged, s, "unevaluatedProperties")
		all = append(all, alternative{branch, merged, path, inner})
	}
	return all, nullable
}

// branches writes alternatives, at least one without enumerated values. For GoogleAI it writes only the first one
// that can be written.
func (g *gemini) branches(all []alternative, key, at string) map[string]any {
	allowsText := slices.ContainsFunc(all, func(a alternative) bool {
		kinds := tree.Types(a.merged)
		return a.merged != nil && tree.Constants(a.merged) == nil && (len(kinds) == 0 || slices.Contains(kinds, "string"))
	})
	withLists := 0 // alternatives with lists that could be mistaken for lists of entries
	for _, a := range all {
		if g.acceptsEntries(a.merged, maxCompared) {
			withLists++
		}
	}
	var out []any
	for i, a := range all {
		if g.googleAI && len(out) > 0 {
			g.record(at, key, profile.Narrower, "only the first alternative is offered")
			break
		}
		if a.merged == nil {
			out = append(out, g.asText(a.at, "the value", a.branch))
			continue
		}
		if allowsText {
			a.merged = g.onlyStrings(a.merged, a.at)
		}
		written := g.schema(a.merged, a.at, a.via)
		if withLists > 1 || withLists == 1 && !g.acceptsEntries(a.merged, maxCompared) {
			written = g.withoutEntries(written, a.at)
		}
		if written != nil {
			out = append(out, written)
		}
		if g.isExhausted() && i > 0 {
			return g.asText(at, "the value", nil)
		}
	}
	return anyOf(out)
}

// acceptsEntries reports whether v may allow lists that look like lists of entries: those of objects, of lists, or of
// any values. It looks at most depth levels deep, and returns true if it does not know.
func (g *gemini) acceptsEntries(v any, depth int) bool {
	s := g.Plain(v)
	if depth == 0 || s == nil || !g.Spend(compareSteps) {
		return s != nil
	}
	if branches := slices.Concat(tree.List(s["anyOf"]), tree.List(s["oneOf"])); branches != nil {
		return slices.ContainsFunc(branches, func(b any) bool { return g.acceptsEntries(b, depth-1) })
	}
	if tree.Constants(s) != nil {
		return false
	}
	if kinds := tree.Types(s); len(kinds) > 0 && !slices.Contains(kinds, "array") {
		return false
	}
	if s["prefixItems"] != nil {
		return true
	}
	items := g.Plain(s["items"])
	kinds := tree.Types(items)
	if len(kinds) == 0 {
		return tree.Constants(items) == nil
	}
	return slices.Contains(kinds, "object") || slices.Contains(kinds, "array")
}
