package rewrite

import (
	"cmp"
	"maps"
	"strconv"
)

// array writes the items of a list. It returns false when no list can be written
// that fits.
func (g *geminiWriter) array(out, s map[string]any, at string, r route) bool {
	copyKeys(out, s, "minItems", "maxItems")
	items, path := g.others(s, at)
	if tuple := list(s["prefixItems"]); len(tuple) > 0 {
		return g.tuple(out, tuple, items, at, path, r)
	}
	if items == nil {
		items = map[string]any{}
	}
	written := g.schema(items, path, r)
	if written == nil {
		return g.most(out, 0)
	}
	out["items"] = written
	return true
}

// others is what holds for the items that have no place of their own, and where
// that is said; nil for nothing.
func (g *geminiWriter) others(s map[string]any, at string) (items any, path string) {
	if items, ok := s["items"]; ok {
		if _, also := s["unevaluatedItems"]; also {
			g.note(at, "unevaluatedItems", Same, "left out, because items speaks of all")
		}
		return items, join(at, "items")
	}
	says, ok := s["unevaluatedItems"]
	if !ok {
		return nil, join(at, "items")
	}
	effect := Same
	if _, contains := s["contains"]; contains {
		effect = Narrower // it evaluates items, too
	}
	g.note(at, "unevaluatedItems", effect, "written as items")
	return says, join(at, "unevaluatedItems")
}

// contained writes, of a list, that it contains something and nothing else.
func (g *geminiWriter) contained(s map[string]any, at string) map[string]any {
	for _, key := range []string{"items", "prefixItems", "minContains", "maxContains"} {
		if _, ok := s[key]; ok {
			return s
		}
	}
	contains, ok := s["contains"]
	if !ok || !never(s["unevaluatedItems"]) {
		return s
	}
	s = maps.Clone(s)
	s["items"] = contains
	if least, ok := rational(s["minItems"]); !ok || least.Sign() == 0 {
		s["minItems"] = number(1)
	}
	delete(s, "contains")
	delete(s, "unevaluatedItems")
	g.note(at, "contains", Same, "written as items, because there are no others")
	return s
}

// most bounds a list. It returns false when the list must be longer.
func (g *geminiWriter) most(out map[string]any, n int) bool {
	least, ok := rational(out["minItems"])
	if ok && least.Cmp(rat(n)) > 0 || n == 0 && g.target == GoogleAI {
		return false
	}
	out["maxItems"], _ = extreme(number(n), cmp.Or(out["maxItems"], any(number(n))), -1)
	if n == 0 {
		out["items"] = map[string]any{"type": "string"}
	}
	return true
}

// tuple writes a list whose items are told apart by their place, as one of items
// of all their kinds.
func (g *geminiWriter) tuple(out map[string]any, tuple []any, others any, at, path string, r route) bool {
	var kinds []any
	seen := set{}
	closed := never(others)
	for i, item := range tuple {
		written := g.schema(item, join(at, "prefixItems", strconv.Itoa(i)), r)
		if written == nil {
			tuple, closed = tuple[:i], true
			break
		}
		if seen.add(written) {
			kinds = append(kinds, written)
		}
	}
	inOrder := len(kinds) > 1
	switch {
	case len(object(others)) > 0 && !closed:
		written := g.schema(others, path, r)
		if closed = written == nil; !closed && seen.add(written) {
			kinds = append(kinds, written)
			g.note(at, "items", Wider, "the order of the items is left to validation")
		}
	}
	if closed {
		if !g.most(out, len(tuple)) {
			return false
		}
		if g.target == GoogleAI {
			g.note(at, "items", Wider, "told in the description")
		}
	}
	if len(kinds) == 0 {
		return true
	}
	out["items"] = kinds[0]
	if !inOrder && len(kinds) == 1 {
		g.note(at, "prefixItems", Same, "all items are of one kind")
		return true
	}
	g.note(at, "prefixItems", Wider, "the order of the items is left to validation")
	if g.target != GoogleAI {
		out["items"] = alternatives(kinds)
	}
	if g.charge(sizeOf(tuple)) {
		describe(out, "The items in order: "+show(tuple))
	}
	return true
}
