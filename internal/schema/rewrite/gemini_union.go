package rewrite

import (
	"maps"
	"slices"
	"strconv"
)

// union writes alternatives, beside which nothing else may stand. Those that no
// keyword of s holds have the key "".
func (g *geminiWriter) union(s map[string]any, branches []any, key, at string, r route) map[string]any {
	base := maps.Clone(s)
	delete(base, key)
	nullable := false
	var parts []alternative
	for i, b := range branches {
		path := at
		if key != "" {
			path = join(at, key, strconv.Itoa(i))
		}
		path = g.places.of(object(b), path)
		if never(b) {
			continue
		}
		if names := types(object(b)); len(names) == 1 && names[0] == "null" {
			nullable = true
			continue
		}
		part, inner, ok := g.whole(object(b), path, r)
		if !g.spend(breadth(part) + breadth(base)) {
			return g.tooLarge(s, at)
		}
		if _, lost := conjoin(part, base); ok && (never(part) || slices.Contains(lost, "type")) {
			continue // nothing fits it
		}
		parts = append(parts, alternative{part, object(b), path, inner, ok})
	}
	if nullable {
		g.note(at, key, Same, "null is written as nullable")
	}
	if key == "oneOf" && len(parts) > 1 {
		parts = g.apartOf(parts, branches, base, at)
	}
	written := g.branches(parts, s, base, key, at)
	if nullable {
		return g.orNull(written)
	}
	return written
}

// apartOf makes alternatives of a oneOf, written as anyOf, such that a value fits
// one of them only, where that can be said.
func (g *geminiWriter) apartOf(parts []alternative, branches []any, base map[string]any, at string) []alternative {
	if g.enumerate(parts) {
		g.note(at, "oneOf", Same, "written as an enumeration")
		return parts
	}
	if g.disjoint(branches) {
		g.note(at, "oneOf", Same, "written as anyOf")
		return parts
	}
	merged := make([]map[string]any, 0, len(branches))
	for _, a := range parts {
		if !g.spend(breadth(a.s) + breadth(base)) {
			break
		}
		whole, _ := beside(a.s, base)
		merged = append(merged, whole)
	}
	splits, effect, ok := g.separate(merged)
	ok = ok && len(merged) == len(parts)
	for _, b := range branches {
		ok = ok && (len(parts) == len(branches) || !slices.Contains(types(object(b)), "null") || len(types(object(b))) == 1)
	}
	if !ok {
		g.note(at, "oneOf", Wider, "written as anyOf")
		return parts
	}
	g.note(at, "oneOf", effect, "written as anyOf of what fits one alternative only")
	var out []alternative
	for i, a := range parts {
		if splits[i].drop {
			continue
		}
		if len(splits[i].without) > 0 {
			g.spend(breadth(a.s) + len(splits[i].without))
			a.s, _ = conjoin(a.s, without(splits[i].without...))
		}
		out = append(out, a)
	}
	return out
}

// enumerate reports whether all alternatives only enumerate values.
func (g *geminiWriter) enumerate(parts []alternative) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(a alternative) bool { return !a.enumerates() })
}

// alternative is one branch of a union.
type alternative struct {
	s, original map[string]any
	at          string
	r           route
	whole       bool // s is it, its references replaced
}

func (a *alternative) enumerates() bool { return a.whole && constants(a.s) != nil }

// branches writes the branches of a union that are not null. Those that only
// enumerate are one enumeration.
func (g *geminiWriter) branches(parts []alternative, s, base map[string]any, key, at string) map[string]any {
	if g.enumerate(parts) {
		var lists [][]any
		for _, a := range parts {
			if !g.spend(weight(constants(a.s))) {
				return g.tooLarge(s, at)
			}
			lists = append(lists, g.doc.fitting(a.s, constants(a.s)))
		}
		values := union(slices.Concat(lists...), nil)
		if key == "oneOf" {
			values = once(lists)
		}
		if values = g.doc.fitting(base, values); len(values) == 0 {
			return nil
		}
		about := maps.Clone(s)
		copyKeys(about, parts[0].s, "title", "description")
		return g.enumeration(values, about, at)
	}
	if g.target == GoogleAI && len(parts) > 1 {
		g.note(at, key, Narrower, "only the first alternative is offered")
	}
	var out []any
	takers, texts := make([]bool, len(parts)), false
	for i, a := range parts {
		takers[i] = g.takesEntries(a.s, maxApart)
		texts = texts || g.takesText(a.s, maxApart)
	}
	for i, a := range parts {
		if g.target == GoogleAI && len(out) > 0 {
			break
		}
		if !a.whole {
			out = append(out, g.asText(a.at, "the value", text(a.original["description"]), Wider))
			continue
		}
		if !g.spend(breadth(a.s) + breadth(base)) {
			break
		}
		g.merge(base, at, a.s, a.at)
		merged := g.beside(a.s, base, at)
		if texts { // none of which enumerates values
			merged = g.onlyTexts(merged, a.at)
		}
		written := g.schema(merged, a.at, a.r)
		if slices.Contains(takers[:i], true) || slices.Contains(takers[i+1:], true) {
			written = g.withoutEntries(written, merged, a.at)
		}
		if written != nil {
			out = append(out, written)
		}
	}
	if g.left < 0 {
		return g.tooLarge(s, at)
	}
	return alternatives(out)
}

// tooLarge asks for a value as JSON text because there is no room for the whole.
func (g *geminiWriter) tooLarge(s map[string]any, at string) map[string]any {
	return g.asText(at, "the value", text(s["description"]), Wider)
}

// beside merges an alternative with what stands beside it.
func (g *geminiWriter) beside(branch, base map[string]any, at string) map[string]any {
	out, lost := beside(branch, base)
	return g.merged(out, base, lost, at)
}

// both merges two subschemas that hold together, the second of which stands at.
func (g *geminiWriter) both(a, b map[string]any, at string) map[string]any {
	out, lost := conjoin(a, b)
	return g.merged(out, b, lost, at)
}

// merged completes out by what was lost of b. Other values and other types are
// nothing together; a second condition becomes alternatives.
func (g *geminiWriter) merged(out, b map[string]any, lost []string, at string) map[string]any {
	for _, key := range lost {
		if key == "const" || key == "enum" || key == "type" {
			return nothing
		}
		if key == "if" && g.target != GoogleAI {
			var also []string
			out, also = conjoin(out, map[string]any{"anyOf": []any{
				allOf(b["if"], orTrue(b, "then")), allOf(map[string]any{"not": b["if"]}, orTrue(b, "else")),
			}})
			if len(also) == 0 {
				g.note(at, "if", Same, "a second condition is written as alternatives")
				continue
			}
		}
		g.note(at, key, Wider, "one of two demands is left to validation")
	}
	return out
}

func copyKeys(out, in map[string]any, names ...string) {
	for _, name := range names {
		if v, ok := in[name]; ok {
			out[name] = v
		}
	}
}
