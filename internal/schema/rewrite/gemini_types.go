package rewrite

import (
	"encoding/json"
	"math/big"
	"reflect"
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
	return out
}

// loose notes the keywords that are left to validation.
func (g *geminiWriter) loose(out, s map[string]any, at string) {
	for _, key := range []string{
		"not", "if", "dependentRequired", "dependentSchemas", "dependencies", "propertyNames", "unevaluatedProperties",
		"unevaluatedItems", "contains", "uniqueItems", "multipleOf",
	} {
		if value, ok := s[key]; ok {
			g.note(at, key, Wider, "left to validation")
			if key == "uniqueItems" || key == "multipleOf" {
				describe(out, "("+key+": "+show(value)+")")
			}
		}
	}
}

// leaveOut notes the keywords that Gemini does not know and that demand nothing.
func (g *geminiWriter) leaveOut(out, s map[string]any, at string) {
	for _, key := range keys(s) {
		_, kept := out[key]
		silent := slices.Contains(annotationKeywords, key) && key != "nullable" || strings.HasPrefix(key, "x-") ||
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
	for _, key := range []string{"additionalProperties", "patternProperties"} {
		if rest, ok := s[key]; ok && rest != false && len(properties) > 0 {
			g.note(at, key, Narrower, "only the properties that are described are offered")
		}
	}
	out["properties"] = properties
	if len(required) > 0 {
		out["required"] = anys(required)
	}
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
	g.note(at, "prefixItems", Wider, "the order of the items is left to validation")
	var kinds []any
	for i, item := range tuple {
		kind := g.schema(item, join(at, "prefixItems", strconv.Itoa(i)), r)
		if !slices.ContainsFunc(kinds, func(old any) bool { return reflect.DeepEqual(old, any(kind)) }) {
			kinds = append(kinds, kind)
		}
	}
	out["items"] = map[string]any{"anyOf": kinds}
	if len(kinds) == 1 {
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
