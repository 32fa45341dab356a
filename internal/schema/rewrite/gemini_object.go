package rewrite

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// object writes the properties of an object. It returns false when no object can
// be written that fits.
func (g *geminiWriter) object(out, s map[string]any, at string, r route) bool {
	copyKeys(out, s, "minProperties", "maxProperties")
	required := names(s["required"])
	demanded := setOf(anys(required))
	properties := map[string]any{}
	cut := false
	patterns := keys(object(s["patternProperties"]))
	described := append(keys(object(s["properties"])), required...)
	slices.Sort(described)
	for _, name := range slices.Compact(described) {
		if g.full() && at != "" {
			break // the whole is JSON text
		}
		if g.left < 0 && g.levels > 0 {
			return false // fewer levels are tried
		}
		says, path := g.saidOf(s, name, patterns, at)
		if !g.allows(s, name, demanded.has(name), at) {
			says = nothing
		}
		var written map[string]any
		if says != nil {
			written = g.schema(says, path, r)
		} else {
			written = g.undescribed(name, at)
		}
		switch {
		case written != nil:
			properties[name] = written
		case !demanded.has(name):
			cut = cut || !never(says)
		case at == "" && g.levels == 0: // there must be a root
			properties[name] = g.asText(path, "the value", "", Wider)
		default:
			return false
		}
	}
	if len(properties) == 0 {
		return !cut || at == ""
	}
	for _, key := range []string{"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"} {
		if rest, ok := s[key]; ok && rest != false {
			g.note(at, key, Narrower, "only the properties that are described are offered")
		}
	}
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = anys(required)
	}
	return true
}

// allows reports whether propertyNames allows a property to be written. Of an
// optional one that must be known.
func (g *geminiWriter) allows(s map[string]any, name string, required bool, at string) bool {
	fits, known := g.doc.named(s["propertyNames"], name, maxApart)
	switch {
	case known && fits:
		return true
	case known:
		g.note(at, "propertyNames", Same, "the property "+quote(name)+" is left out, because its name does not fit")
		return false
	case !required:
		g.note(at, "propertyNames", Narrower, "the property "+quote(name)+" is left out, because its name may not fit")
		return false
	}
	g.note(at, "propertyNames", Wider, "whether the name "+quote(name)+" fits is left to validation")
	return true
}

// undescribed asks for a property that is required and of which nothing is said.
func (g *geminiWriter) undescribed(name, at string) map[string]any {
	g.left--
	g.charge(len(name))
	return g.anything(join(at, "properties", name), "")
}

// saidOf is what s says of the property of a name, and where; nil when nothing.
func (g *geminiWriter) saidOf(s map[string]any, name string, patterns []string, at string) (says any, path string) {
	says, described := object(s["properties"])[name]
	path = join(at, "properties", name)
	for _, pattern := range patterns {
		// A pattern of another language is left to the server, by validation too.
		matches, _ := g.doc.Matches(pattern, name)
		if g.doc.Left == 0 {
			g.left = -1 // too large to be written
			break
		}
		if !matches {
			continue
		}
		own := object(s["patternProperties"])[pattern]
		if described {
			g.note(at, "patternProperties", Same, "merged into the property "+quote(name))
			says = allOf(says, own)
		} else {
			says, path, described = own, join(at, "patternProperties", pattern), true
		}
	}
	if !described {
		var key string
		if says, key = rest(s); key != "" {
			path = join(at, key)
		}
		if says == true || says != false && len(object(says)) == 0 {
			return nil, path
		}
	}
	return says, path
}

// entries asks for an object of any properties as a list of their names and
// values, which package adapter makes an object of again.
func (g *geminiWriter) entries(s map[string]any, at string, r route) map[string]any {
	about := text(s["description"])
	value, path := rest(s)
	path = join(at, path)
	if len(object(s["properties"])) > 0 { // none of which may be given
		return g.empty(s, at)
	}
	name := any(map[string]any{"type": "string"})
	if patterns := object(s["patternProperties"]); len(patterns) > 0 {
		if len(patterns) > 1 || object(s["propertyNames"]) != nil {
			return g.asText(at, "the object", about, Wider)
		}
		pattern := keys(patterns)[0]
		if value != false {
			g.note(at, "additionalProperties", Narrower, "only names that fit the pattern are offered")
		}
		name, value, path = map[string]any{"type": "string", "pattern": pattern}, patterns[pattern], join(at, "patternProperties", pattern)
	} else if value == false {
		return g.empty(s, at)
	}
	if says, ok := s["propertyNames"]; ok {
		name = allOf(name, says)
	}
	written := g.schema(name, join(at, "propertyNames"), r)
	if written == nil {
		return nil
	}
	properties, required := map[string]any{EntryName: written}, []any{EntryName}
	if value == nil || value == true || len(object(value)) == 0 {
		maps.Copy(properties, g.anyValue())
	} else {
		if written = g.schema(value, path, r); written == nil {
			return nil
		}
		properties[EntryValue] = written
		required = append(required, EntryValue)
	}
	out := map[string]any{"type": "array", "items": map[string]any{"type": "object", "properties": properties, "required": required}}
	copyKeys(out, s, "title", "description")
	describe(out, "A list of names and values.")
	for from, to := range map[string]string{"minProperties": "minItems", "maxProperties": "maxItems"} {
		if n, ok := s[from]; ok {
			out[to] = n
		}
	}
	if least, ok := rational(s["minProperties"]); ok && least.Cmp(rat(1)) > 0 {
		g.note(at, "minProperties", Wider, "left to validation for names that are there twice")
	}
	g.note(at, "", Same, "the object is asked for as a list of names and values")
	return out
}

// The properties of an item that stands for a property of an object: its name,
// its value, or that as JSON text.
const (
	EntryName  = "key"
	EntryValue = "value"
	EntryJSON  = "json"
)

// anyValue are the properties of an item whose value may be any.
func (g *geminiWriter) anyValue() map[string]any {
	value := map[string]any{"type": "string"}
	about := "Instead of the value, where it is a list or an object: it as JSON."
	if g.target == GoogleAI {
		about = "Instead of the value, where it is no text: it as JSON."
	} else {
		value = map[string]any{"anyOf": scalarForms()}
		g.setNullable(value)
	}
	return map[string]any{EntryValue: value, EntryJSON: map[string]any{"type": "string", "description": about}}
}

// empty asks for an object that has no properties.
func (g *geminiWriter) empty(s map[string]any, at string) map[string]any {
	if least, ok := rational(s["minProperties"]); ok && least.Sign() > 0 {
		g.note(at, "minProperties", Same, "left out, because no value fits it")
		return nil
	}
	if g.target == GoogleAI {
		return g.asText(at, "the object", text(s["description"]), Wider)
	}
	effect := Same
	if others, _ := rest(s); others != false {
		effect = Narrower
	}
	out := map[string]any{"type": "string", "format": "enum", "enum": []any{show(map[string]any{})}}
	copyKeys(out, s, "title", "description")
	g.note(at, "", effect, "the empty object is asked for as JSON text")
	return out
}

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }
