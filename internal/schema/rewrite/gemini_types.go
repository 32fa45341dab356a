package rewrite

import (
	"cmp"
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// typed writes a subschema of one type.
func (g *geminiWriter) typed(name string, s map[string]any, at string, r route) map[string]any {
	out := map[string]any{"type": name}
	copyKeys(out, s, "title", "description", "default")
	switch name {
	case "object":
		g.object(out, s, at, r)
	case "array":
		g.array(out, s, at, r)
	case "string":
		copyKeys(out, s, "pattern", "minLength", "maxLength")
		if format := text(s["format"]); format == "date-time" {
			out["format"] = format
		} else if format != "" {
			g.note(at, "format", Same, "the format is told in the description")
			describe(out, "(format: "+format+")")
		}
	case "number", "integer":
		g.number(out, s, at)
	}
	g.loose(out, s, at)
	g.leaveOut(out, s, at)
	if out["type"] == "object" && len(object(out["properties"])) == 0 && at != "" {
		return g.asText(at, "the object", text(out["description"]), Wider)
	}
	return g.carried(out, s, at)
}

// loose notes the keywords that are left to validation.
func (g *geminiWriter) loose(out, s map[string]any, at string) {
	for _, key := range []string{
		"not", "if", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedItems", "contains", "multipleOf",
	} {
		if value, ok := s[key]; ok {
			g.note(at, key, Wider, "left to validation")
			if key == "multipleOf" {
				describe(out, "("+key+": "+show(value)+")")
			}
		}
	}
	if s["uniqueItems"] == true {
		g.note(at, "uniqueItems", uniqueness(s), "told in the description")
		describe(out, "(uniqueItems: true)")
	}
}

// uniqueness is the effect of leaving uniqueItems out. What is there twice is
// taken out before validation, after which there may be too little.
func uniqueness(s map[string]any) Effect {
	if least, ok := rational(s["minItems"]); ok && least.Cmp(big.NewRat(1, 1)) > 0 {
		return Wider
	}
	return Same
}

// leaveOut notes the keywords that Gemini does not know and that demand nothing.
func (g *geminiWriter) leaveOut(out, s map[string]any, at string) {
	for _, key := range keys(s) {
		_, kept := out[key]
		silent := slices.Contains(annotationKeywords, key) || strings.HasPrefix(key, "x-") ||
			key == "$defs" || key == "definitions" || key == "discriminator" || key == "additionalProperties" && s[key] == false
		if silent && !kept {
			g.note(at, key, Same, "left out")
		}
	}
}

func (g *geminiWriter) object(out, s map[string]any, at string, r route) {
	copyKeys(out, s, "minProperties", "maxProperties")
	properties := map[string]any{}
	for _, name := range keys(object(s["properties"])) {
		path := join(at, "properties", name)
		properties[name] = g.schema(object(s["properties"])[name], path, r)
	}
	required := names(s["required"])
	for _, name := range required {
		if _, ok := properties[name]; !ok {
			g.note(at, "required", Narrower, "the property "+strconv.Quote(name)+" is asked for as JSON text")
			properties[name] = map[string]any{"type": "string", "description": "Write any value as JSON."}
		}
	}
	for _, key := range []string{"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"} {
		if rest, ok := s[key]; ok && rest != false && len(properties) > 0 {
			g.note(at, key, offered(key, rest, properties), "only the properties that are described are offered")
		}
	}
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = anys(required)
	}
}

// offered is the effect of leaving out what a keyword says of properties by their
// names, where only those that are described are offered.
func offered(key string, says any, properties map[string]any) Effect {
	if key != "patternProperties" {
		return Narrower
	}
	for name := range properties {
		for pattern := range object(says) {
			if matches, err := regexp.MatchString(pattern, name); err != nil || matches {
				return Wider
			}
		}
	}
	return Narrower
}

func (g *geminiWriter) array(out, s map[string]any, at string, r route) {
	copyKeys(out, s, "minItems", "maxItems")
	tuple := list(s["prefixItems"])
	if len(tuple) == 0 {
		items, ok := s["items"]
		if !ok {
			items = map[string]any{}
		}
		out["items"] = g.schema(items, join(at, "items"), r)
		return
	}
	g.tuple(out, s, tuple, at, r)
}

// tuple writes a list whose items are told apart by their place, as one of items
// of all their kinds.
func (g *geminiWriter) tuple(out, s map[string]any, tuple []any, at string, r route) {
	var kinds []any
	seen := set{}
	add := func(item any, path string) {
		kind := g.schema(item, path, r)
		if seen.add(kind) {
			kinds = append(kinds, kind)
		}
	}
	for i, item := range tuple {
		add(item, join(at, "prefixItems", strconv.Itoa(i)))
	}
	switch others := s["items"]; {
	case others == false || object(others)["not"] != nil && len(object(object(others)["not"])) == 0:
		most, _ := extreme(json.Number(strconv.Itoa(len(tuple))), cmp.Or(s["maxItems"], any(json.Number(strconv.Itoa(len(tuple))))), -1)
		out["maxItems"] = most
		if g.target == GoogleAI {
			g.note(at, "items", Wider, "told in the description")
		}
	case len(object(others)) > 0:
		add(others, join(at, "items"))
		if len(kinds) > 1 {
			g.note(at, "items", Wider, "the order of the items is left to validation")
		}
	}
	if len(kinds) == 1 {
		out["items"] = kinds[0]
		g.note(at, "prefixItems", Same, "all items are of one kind")
		return
	}
	g.note(at, "prefixItems", Wider, "the order of the items is left to validation")
	out["items"] = map[string]any{"anyOf": kinds}
	if g.target == GoogleAI {
		out["items"] = kinds[0]
	}
	describe(out, "The items in order: "+show(tuple))
}

// number writes bounds. Those that exclude their value exist for integers only,
// as the next one.
func (g *geminiWriter) number(out, s map[string]any, at string) {
	copyKeys(out, s, "minimum", "maximum")
	for _, b := range []struct {
		from, to string
		step     int64
	}{{"exclusiveMinimum", "minimum", 1}, {"exclusiveMaximum", "maximum", -1}} {
		limit, ok := s[b.from].(json.Number)
		if !ok {
			continue
		}
		n, whole := new(big.Int).SetString(string(limit), 10)
		if _, both := out[b.to]; both || !whole || out["type"] != "integer" {
			g.note(at, b.from, Wider, "told in the description")
			describe(out, "("+b.from+": "+string(limit)+")")
			continue
		}
		out[b.to] = json.Number(n.Add(n, big.NewInt(b.step)).String())
		g.note(at, b.from, Same, "written as "+b.to)
	}
}
