package adapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// generator makes random values that fit a schema, as JSON Schema or Gemini's subset. Like a model, it uses described properties.
type generator struct {
	*rand.Rand
	root map[string]any
}

func (g *generator) value(v any, depth int) any {
	s, ok := v.(map[string]any)
	if !ok {
		return g.any()
	}
	if depth < -100 { // no value of an endless schema fits
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		if target, ok := (&tree.Document{Root: g.root}).Resolve(ref); ok {
			return g.value(merged(target, s), depth)
		}
	}
	if parts := tree.List(s["allOf"]); len(parts) > 0 {
		whole := tree.Without(s, "allOf", "$ref")
		for _, p := range parts {
			if ref, ok := tree.Object(p)["$ref"].(string); ok {
				p, _ = (&tree.Document{Root: g.root}).Resolve(ref)
			}
			whole = merged(p, whole)
		}
		return g.value(whole, depth)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := tree.List(s[key]); len(branches) > 0 {
			branch := branches[g.IntN(len(branches))]
			if depth <= 0 { // null ends a recursion, and else the first one
				branch = branches[0]
				for _, b := range branches {
					if tree.Object(b)["type"] == "null" {
						branch = b
					}
				}
			}
			return g.value(merged(branch, tree.Without(s, key, "$ref")), depth)
		}
	}
	if c, ok := s["const"]; ok {
		return c
	}
	if values := tree.List(s["enum"]); len(values) > 0 {
		return values[g.IntN(len(values))]
	}
	kinds := tree.Types(s)
	if len(kinds) == 0 {
		if s["properties"] == nil && s["required"] == nil {
			return g.any()
		}
		kinds = []string{"object"}
	}
	if depth <= 0 && slices.Contains(kinds, "null") {
		return nil
	}
	return g.typed(kinds[g.IntN(len(kinds))], s, depth)
}

// any returns a random value of any type.
func (g *generator) any() any {
	return []any{"text", json.Number("7"), true, nil, []any{json.Number("1")}, map[string]any{"k": "v"}}[g.IntN(6)]
}

// merged returns a with the properties and required names of b added.
func merged(a any, b map[string]any) map[string]any {
	out := tree.Without(b, "$ref")
	for k, v := range tree.Object(a) {
		switch k {
		case "properties":
			all := map[string]any{}
			maps.Copy(all, tree.Object(b[k]))
			maps.Copy(all, tree.Object(v))
			out[k] = all
		case "required":
			out[k] = slices.Concat(tree.List(b[k]), tree.List(v))
		default:
			out[k] = v
		}
	}
	return out
}

func (g *generator) typed(kind string, s map[string]any, depth int) any {
	switch kind {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, depth)
	case "string":
		return g.text(s)
	case "integer", "number":
		return g.number(kind, s)
	case "boolean":
		return g.IntN(2) == 0
	}
	return nil
}

func (g *generator) object(s map[string]any, depth int) any {
	out := map[string]any{}
	for _, name := range tree.Strings(s["required"]) {
		p, ok := tree.Object(s["properties"])[name]
		if !ok {
			p = map[string]any{}
		}
		out[name] = g.value(p, depth-1)
	}
	for name, p := range tree.Object(s["properties"]) {
		if _, ok := out[name]; !ok && depth > 0 && g.IntN(2) == 0 {
			out[name] = g.value(p, depth-1)
		}
	}
	if rest := tree.Object(s["additionalProperties"]); rest != nil && depth > 0 {
		for range g.IntN(3) {
			out[string(rune('a'+g.IntN(26)))] = g.value(rest, depth-1)
		}
	}
	return out
}

func (g *generator) array(s map[string]any, depth int) any {
	least, most := limit(s, "minItems", 0), limit(s, "maxItems", 3)
	n := least
	if most > least && depth > 0 {
		n += g.IntN(min(most-least, 3) + 1)
	}
	prefix := tree.List(s["prefixItems"])
	if s["items"] == false || tree.Object(s["items"])["not"] != nil {
		n = min(n, len(prefix))
	}
	out := []any{}
	seen := map[string]bool{}
	for i := range n {
		item := s["items"]
		if i < len(prefix) {
			item = prefix[i]
		}
		v := g.value(item, depth-1)
		key, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		for s["uniqueItems"] == true && seen[string(key)] {
			v = json.Number(strconv.Itoa(g.IntN(1_000_000)))
			key = []byte(v.(json.Number))
		}
		seen[string(key)] = true
		out = append(out, v)
	}
	return out
}

// numberOf returns the number that a keyword has, or another one.
func numberOf(s map[string]any, key string, otherwise float64) float64 {
	n, _ := s[key].(json.Number)
	if f, err := n.Float64(); err == nil {
		return f
	}
	return otherwise
}

func limit(s map[string]any, key string, otherwise int) int {
	return int(min(numberOf(s, key, float64(otherwise)), 1000))
}

// samples are texts that match the patterns in testdata.
var samples = map[string]string{"^[a-c]{2}$": "ab", "^(?!x)": "abc", "^[a-z]+$": "abc"}

func (g *generator) text(s map[string]any) any {
	if pattern, ok := s["pattern"].(string); ok {
		return samples[pattern]
	}
	n := limit(s, "minLength", 0)
	if most := limit(s, "maxLength", n+10); most > n {
		n += g.IntN(min(most-n, 10) + 1)
	}
	out := make([]rune, n)
	for i := range out {
		out[i] = []rune("abc é7{\"-")[g.IntN(9)]
	}
	return string(out)
}

func (g *generator) number(kind string, s map[string]any) any {
	low := max(numberOf(s, "minimum", -100), numberOf(s, "exclusiveMinimum", -101))
	high := min(max(numberOf(s, "maximum", low+100), low), numberOf(s, "exclusiveMaximum", low+101))
	step := numberOf(s, "multipleOf", 1)
	if kind == "number" && high-low <= 2 && s["multipleOf"] == nil {
		return json.Number(strconv.FormatFloat(low+(high-low)*(0.25+g.Float64()/2), 'f', -1, 64))
	}
	n := int64(low/step) + 1 + int64(g.IntN(max(int(min(high-low, 100)/step)-1, 1)))
	return json.Number(strconv.FormatInt(n*int64(step), 10))
}

// schemaOf returns a random object schema with common and rare keywords.
func (g *generator) schemaOf() map[string]any {
	root := g.objectOf("p", 4)
	recursive := parsed(`{"type":"object","properties":{"next":{"$ref":"#/$defs/d1"},"all":{"type":"array","items":{"$ref":"#/$defs/d1"}}}}`)
	tree.Object(recursive["properties"])["value"] = g.scalar()
	endless := func(name string) map[string]any {
		return parsed(`{"type":"object","properties":{"x":{"$ref":"#/$defs/` + name + `"}},"required":["x"],"additionalProperties":false}`)
	}
	g.may(4, tree.Object(recursive["properties"]), "either", parsed(`{"oneOf":[{"$ref":"#/$defs/d2"},{"$ref":"#/$defs/d3"}]}`))
	root["$defs"] = map[string]any{"d0": g.scalar(), "d1": recursive, "d2": endless("d2"), "d3": endless("d3")}
	if root["properties"] == nil {
		root["properties"] = map[string]any{}
	}
	switch g.IntN(16) {
	case 0:
		delete(root, "additionalProperties")
		root["allOf"] = []any{g.part("q", 2), g.part("r", 1)}
	case 1:
		root["anyOf"] = []any{map[string]any{"required": []any{"p0"}}, map[string]any{"required": []any{"p1"}}}
	case 2:
		delete(root, "additionalProperties") // which would allow nothing
		root["oneOf"] = []any{g.tagged("x", 1), g.tagged("y", 1)}
	case 3:
		root["if"], root["then"] = map[string]any{"required": []any{"p0"}}, map[string]any{"required": []any{"p1"}}
	case 4:
		root["dependentRequired"] = map[string]any{"p0": []any{"p1"}}
	case 5:
		root["not"] = map[string]any{"required": []any{"p0", "p1"}}
	case 6:
		root["oneOf"] = []any{map[string]any{"required": []any{"p0"}}, map[string]any{"required": []any{"p1"}}}
	case 7:
		root["allOf"] = []any{g.condition("p0", "p1"), g.condition("p1", "p2")}
	case 8:
		root["patternProperties"] = map[string]any{"^p": map[string]any{"maxLength": count(3)}}
	case 9:
		delete(root, "additionalProperties")
		root["if"] = map[string]any{"required": []any{"p0"}}
		root["then"], root["else"] = g.part("q", 1), g.part("r", 1)
	case 10:
		delete(root, "additionalProperties")
		root["dependentSchemas"] = map[string]any{"p0": g.part("q", 1)}
	case 11:
		delete(root, "additionalProperties")
		root["patternProperties"] = map[string]any{"^p0": g.numbers()}
		tree.Object(root["properties"])["p0"] = map[string]any{}
	case 12:
		delete(root, "additionalProperties")
		root["$ref"] = "#/$defs/d4"
		tree.Object(root["$defs"])["d4"] = g.part("q", 1)
	}
	return root
}

// parsed returns a schema that is written in JSON.
func parsed(text string) map[string]any {
	v, _ := schema.Decode([]byte(text))
	return v.(map[string]any)
}

// may sets a keyword once in n times.
func (g *generator) may(n int, s map[string]any, key string, value any) {
	if g.IntN(n) == 0 {
		s[key] = value
	}
}

// condition returns a schema that depends on the presence or the value of a property.
func (g *generator) condition(name, needs string) map[string]any {
	condition := map[string]any{"required": []any{name}}
	g.may(2, condition, "properties", map[string]any{name: map[string]any{"enum": []any{"a", true, count(1)}}})
	return map[string]any{"if": condition, "then": map[string]any{"required": []any{needs}}}
}

// numbers are values that not all providers can express.
func (g *generator) numbers() map[string]any { return parsed(`{"enum":[1,2]}`) }

func count(n int) json.Number { return json.Number(strconv.Itoa(n)) }

func (g *generator) subschema(depth int) map[string]any {
	s := g.bare(depth)
	g.may(4, s, "description", "About it.")
	g.may(20, s, "title", "It")
	return s
}

// bare returns a subschema without a description.
func (g *generator) bare(depth int) map[string]any {
	if depth > 0 {
		switch g.IntN(12) {
		case 0, 1:
			return g.objectOf("p", depth-1)
		case 2, 3:
			return g.arraySchema(depth - 1)
		case 4:
			return map[string]any{"anyOf": []any{g.subschema(depth - 1), map[string]any{"type": "null"}}}
		case 5:
			return map[string]any{"oneOf": []any{g.tagged("x", depth-1), g.tagged("y", depth-1)}}
		case 6:
			return map[string]any{"anyOf": []any{g.scalar(), g.scalar()}}
		case 7:
			return map[string]any{"allOf": []any{g.part("q", depth-1), g.part("r", 0)}}
		case 8:
			return map[string]any{"$ref": "#/$defs/d" + strconv.Itoa(g.IntN(2))}
		case 9:
			return map[string]any{"oneOf": []any{map[string]any{"const": "a", "title": "A"}, map[string]any{"const": "b"}}}
		}
	}
	return g.scalar()
}

// tagged returns an object schema with a constant that distinguishes it.
func (g *generator) tagged(tag string, depth int) map[string]any {
	return map[string]any{
		"type": "object", "required": []any{"tag"},
		"properties": map[string]any{"tag": map[string]any{"const": tag}, "of_" + tag: g.subschema(depth)},
	}
}

// part returns an object schema for an allOf. It contradicts no other part.
func (g *generator) part(prefix string, depth int) map[string]any {
	s := g.objectOf(prefix, depth)
	delete(s, "additionalProperties")
	delete(s, "unevaluatedProperties")
	return s
}

// objectOf returns an object schema whose properties have a prefix.
func (g *generator) objectOf(prefix string, depth int) map[string]any {
	properties := map[string]any{}
	var required []any
	for i := range g.IntN(4) {
		name := prefix + strconv.Itoa(i)
		if g.IntN(12) == 0 {
			name = fmt.Sprintf("odd %s/%d", prefix, i)
		}
		properties[name] = g.subschema(depth)
		if g.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	s := map[string]any{"type": "object"}
	if len(properties) > 0 || g.IntN(2) == 0 {
		s["properties"] = properties
	}
	if required != nil {
		s["required"] = required
	}
	switch g.IntN(6) {
	case 0, 1:
		s["additionalProperties"] = false
	case 2:
		s["additionalProperties"] = g.scalar()
	case 3:
		s["additionalProperties"] = true
	}
	if _, said := s["additionalProperties"]; !said {
		g.may(6, s, "unevaluatedProperties", g.numbers())
	}
	g.may(20, s, "minProperties", count(1))
	g.may(20, s, "maxProperties", count(2))
	g.may(20, s, "dependentRequired", map[string]any{prefix + "1": []any{prefix + "0"}})
	g.may(20, s, "propertyNames", map[string]any{"maxLength": count(30)})
	return s
}

func (g *generator) arraySchema(depth int) map[string]any {
	s := map[string]any{"type": "array"}
	g.may(20, s, "type", []any{"array", "null"})
	switch g.IntN(10) {
	case 0:
	case 8:
		s["unevaluatedItems"] = g.numbers()
	case 9:
		s["contains"], s["minContains"], s["unevaluatedItems"] = g.numbers(), count(0), false
	case 1:
		s["prefixItems"], s["items"] = []any{g.scalar(), g.scalar()}, false
	case 2:
		s["prefixItems"] = []any{map[string]any{"type": "number"}, map[string]any{"type": "number"}}
		g.may(4, s, "unevaluatedItems", false)
		g.may(4, s, "allOf", []any{map[string]any{"items": map[string]any{"minimum": count(1)}}})
	default:
		s["items"] = g.subschema(depth)
	}
	g.may(6, s, "minItems", count(1))
	g.may(6, s, "maxItems", count(3))
	g.may(8, s, "uniqueItems", true)
	return s
}

func (g *generator) scalar() map[string]any {
	s := map[string]any{}
	switch g.IntN(9) {
	case 0, 1, 2:
		s["type"] = "string"
		g.may(8, s, "minLength", count(1))
		g.may(8, s, "maxLength", count(8))
		g.may(8, s, "format", "date-time")
		g.may(8, s, "format", "uri")
		if len(s) == 1 {
			g.may(8, s, "pattern", "^[a-z]+$")
		}
		g.may(8, s, "nullable", true)
	case 3:
		s["type"] = "integer"
		g.may(4, s, "minimum", count(-5))
		g.may(4, s, "maximum", count(50))
		g.may(8, s, "exclusiveMinimum", count(0))
		g.may(8, s, "multipleOf", count(5))
	case 4:
		s["type"] = "number"
		g.may(4, s, "minimum", count(0))
		g.may(8, s, "exclusiveMaximum", count(1))
	case 5:
		s["type"] = "boolean"
	case 6:
		s["enum"] = []any{"a", "b", "c"}
		g.may(2, s, "type", "string")
		g.may(6, s, "enum", []any{count(1), count(2)})
		if _, typed := s["type"]; !typed {
			g.may(6, s, "enum", []any{"a", count(1), nil, true})
		}
	case 7:
		s["type"] = []any{"string", "null"}
		g.may(2, s, "type", []any{"integer", "string"})
	case 8:
		g.may(2, s, "const", "only")
	}
	if kind, _ := s["type"].(string); kind == "string" && s["enum"] != nil && s["enum"].([]any)[0] != "a" {
		delete(s, "type")
	}
	g.may(15, s, "default", nil)
	return s
}
