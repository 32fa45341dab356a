package adapter

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// generator makes random values that fit a schema, as JSON Schema or as Gemini's subset. Like a
// model, it uses only described properties.
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
