package rewrite

import (
	"maps"
	"slices"
	"strconv"
)

// union writes alternatives, beside which nothing else may stand.
func (g *geminiWriter) union(s map[string]any, branches []any, key, at string, r route) map[string]any {
	base := maps.Clone(s)
	delete(base, key)
	nullable := false
	var parts []alternative
	for i, b := range branches {
		path := join(at, key, strconv.Itoa(i))
		if names := types(object(b)); len(names) == 1 && names[0] == "null" {
			nullable = true
			continue
		}
		part, inner, ok := g.whole(object(b), path, r)
		if _, lost := conjoin(part, base); ok && (never(part) || slices.Contains(lost, "type")) {
			continue // nothing fits it
		}
		parts = append(parts, alternative{part, object(b), path, inner, ok})
	}
	if nullable {
		g.note(at, key, Same, "null is written as nullable")
	}
	if key == "oneOf" && len(parts) > 1 {
		g.anyOf(branches, at)
	}
	written := g.branches(parts, s, base, key, at)
	if nullable {
		return g.orNull(written)
	}
	return written
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
	if len(parts) > 0 && !slices.ContainsFunc(parts, func(a alternative) bool { return !a.enumerates() }) {
		var values []any
		for _, a := range parts {
			values = append(values, constants(a.s)...)
		}
		about := maps.Clone(s)
		copyKeys(about, parts[0].s, "title", "description")
		return g.enumeration(union(values, nil), about, at)
	}
	if g.target == GoogleAI && len(parts) > 1 {
		g.note(at, key, Narrower, "only the first alternative is offered")
	}
	var out []any
	for _, a := range parts {
		if g.target == GoogleAI && len(out) > 0 {
			break
		}
		if !a.whole {
			out = append(out, g.asText(a.at, "the value", text(a.original["description"]), Wider))
			continue
		}
		if written := g.schema(g.beside(a.s, base, at), a.at, a.r); written != nil {
			out = append(out, written)
		}
	}
	return alternatives(out)
}

// beside merges an alternative with what stands beside it.
func (g *geminiWriter) beside(branch, base map[string]any, at string) map[string]any {
	out, lost := beside(branch, base)
	for _, key := range lost {
		g.note(at, key, Wider, "one of two demands is left to validation")
	}
	return out
}

// enum writes enumerated values, or a constant.
func (g *geminiWriter) enum(s map[string]any, at string) map[string]any {
	if _, ok := s["const"]; ok {
		g.note(at, "const", Same, "the constant is written as an enumeration")
	}
	said := demandsOn(s)
	values := slices.DeleteFunc(slices.Clone(constants(s)), func(v any) bool { return !said.meet(v) })
	if len(values) == 0 {
		values = constants(s) // none will do
	}
	return g.enumeration(values, s, at)
}

// enumeration writes values as strings, which is what can be enumerated.
func (g *geminiWriter) enumeration(values []any, s map[string]any, at string) map[string]any {
	if !g.spend(weight(values)) {
		return g.asText(at, "the value", text(s["description"]), Wider)
	}
	out := map[string]any{"type": "string", "format": "enum"}
	copyKeys(out, s, "title", "description")
	var spelled []any
	seen := set{}
	odd, empty := false, false
	for _, v := range values {
		name, ok := v.(string)
		switch {
		case v == nil:
			g.setNullable(out)
			continue
		case !ok:
			odd, name = true, show(v)
		case name == "":
			empty = true
			continue
		}
		if seen.add(name) {
			spelled = append(spelled, name)
		}
	}
	if kind := g.typeOf(values); kind != "" {
		out["type"] = kind
	} else if odd {
		g.note(at, "enum", Same, "the values are written as strings")
	}
	if empty && len(spelled) > 0 {
		g.note(at, "enum", Narrower, "the empty value is not offered")
	}
	if len(spelled) == 0 {
		g.note(at, "enum", Wider, "the empty value cannot be asked for")
		delete(out, "format")
		return out
	}
	out["enum"] = spelled
	return g.carried(out, s, at)
}

// typeOf is the type of numbers or booleans that GoogleAI tells in words only, so
// that they need not be strings; "" for other values.
func (g *geminiWriter) typeOf(values []any) string {
	var all []string
	for _, v := range values {
		if name := typeOf(v); name != "null" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	switch {
	case g.target != GoogleAI:
	case slices.Equal(all, []string{"integer", "number"}):
		return "number"
	case len(all) == 1 && slices.Contains([]string{"boolean", "integer", "number"}, all[0]):
		return all[0]
	}
	return ""
}

func copyKeys(out, in map[string]any, names ...string) {
	for _, name := range names {
		if v, ok := in[name]; ok {
			out[name] = v
		}
	}
}
