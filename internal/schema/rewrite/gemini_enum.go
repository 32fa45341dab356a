package rewrite

import "slices"

// fitting lists the values that meet what s says of them besides.
func (d *Document) fitting(s map[string]any, values []any) []any {
	values = d.demandsOn(s).among(values)
	if all := types(s); !slices.Contains(all, "integer") || slices.Contains(all, "number") {
		return values
	}
	return slices.DeleteFunc(values, func(v any) bool {
		n, ok := rational(v)
		return ok && !n.IsInt()
	})
}

// enum writes enumerated values, or a constant.
func (g *geminiWriter) enum(s map[string]any, at string) map[string]any {
	if _, ok := s["const"]; ok {
		g.note(at, "const", Same, "the constant is written as an enumeration")
	}
	if !g.spend(weight(constants(s))) {
		return g.asText(at, "the value", text(s["description"]), Wider)
	}
	values := g.doc.fitting(s, constants(s))
	for _, key := range []string{"not", "if"} {
		if says, ok := s[key]; ok && (key == "if" || constants(object(says)) == nil) {
			g.note(at, key, Wider, "left to validation")
		}
	}
	if len(values) == 0 {
		g.note(at, "", Same, "left out, because no value fits it")
		return nil
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
	if len(spelled) == 0 && !empty {
		return g.orNull(nil)
	}
	if len(spelled) == 0 {
		delete(out, "format")
		if g.target == GoogleAI {
			g.note(at, said(s, "enum"), Wider, "told in the description")
			describe(out, "(the empty text)")
			return out
		}
		g.note(at, "enum", Same, "the empty text is asked for by its length")
		out["maxLength"] = number(0)
		return out
	}
	out["enum"] = spelled
	if !g.affords(out) {
		return g.asText(at, "the value", "", Wider)
	}
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
