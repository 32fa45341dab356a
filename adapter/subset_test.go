package adapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// These functions check the subsets of JSON Schema that providers document. Each returns the first mistake, or nil.
var subsets = map[profile.Profile]func(root map[string]any, strict bool) error{
	profile.Plain:        func(root map[string]any, _ bool) error { return checkRoot(root) },
	profile.OpenAI:       func(root map[string]any, _ bool) error { return checkOpenAI(root) },
	profile.OpenAIStrict: checkStrict,
	profile.Anthropic:    func(root map[string]any, _ bool) error { return checkAnthropic(root) },
	profile.Gemini:       func(root map[string]any, _ bool) error { return checkGemini(root, geminiKeywords) },
	profile.LlamaCpp:     func(root map[string]any, _ bool) error { return checkLlama(root) },
	profile.GoogleAI: func(root map[string]any, _ bool) error {
		return checkGemini(root, []string{"type", "description", "properties", "items", "required"})
	},
}

// checkRoot checks what all providers require: an object with properties that compiles.
func checkRoot(root map[string]any) error {
	if _, ok := root["properties"].(map[string]any); !ok {
		return fmt.Errorf("root has properties %v, want an object", root["properties"])
	}
	raw, err := json.Marshal(root)
	if err != nil {
		return err
	}
	_, err = schema.Compile(raw)
	return err
}

// eachSubschema visits a schema and all subschemas below it, but no data.
func eachSubschema(v any, at string, visit func(s map[string]any, at string) error) error {
	s, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	if err := visit(s, at); err != nil {
		return err
	}
	for place, sub := range tree.Each(s) {
		if err := eachSubschema(sub, place.Join(at), visit); err != nil {
			return err
		}
	}
	return nil
}

// checkModern refuses keywords of older drafts.
func checkModern(s map[string]any, at string) error {
	if _, ok := s["items"].([]any); ok {
		return fmt.Errorf("%s: items is a list", at)
	}
	for _, key := range []string{"exclusiveMinimum", "exclusiveMaximum"} {
		if _, ok := s[key].(bool); ok {
			return fmt.Errorf("%s: %s is a boolean", at, key)
		}
	}
	for name, p := range tree.Object(s["properties"]) {
		if _, ok := p.(bool); ok {
			return fmt.Errorf("%s: property %s is a boolean", at, name)
		}
	}
	return nil
}

func checkObjectRoot(root map[string]any, refused ...string) error {
	if root["type"] != "object" {
		return fmt.Errorf("root has the type %v, want object", root["type"])
	}
	for _, key := range append(refused, "oneOf", "anyOf", "allOf") {
		if _, ok := root[key]; ok {
			return fmt.Errorf("root has %s", key)
		}
	}
	return checkRoot(root)
}

func checkOpenAI(root map[string]any) error {
	if err := checkObjectRoot(root, "enum", "not"); err != nil {
		return err
	}
	return eachSubschema(root, "", func(s map[string]any, at string) error {
		if slices.Contains(tree.Types(s), "array") && s["items"] == nil {
			return fmt.Errorf("%s: array without items", at)
		}
		return checkModern(s, at)
	})
}

var longRepeat = regexp.MustCompile(`\{[^}]*\d{4}`)

// checkLlama refuses what llama.cpp cannot write as a grammar.
func checkLlama(root map[string]any) error {
	if err := checkObjectRoot(root, "enum", "not"); err != nil {
		return err
	}
	return eachSubschema(root, "", func(s map[string]any, at string) error {
		for key, most := range map[string]float64{"minLength": 999, "maxLength": 999, "minItems": 99, "maxItems": 99, "minimum": 1 << 53, "maximum": 1 << 53} {
			if n, ok := s[key].(json.Number); ok {
				if f, err := n.Float64(); err != nil || f > most || f < -most {
					return fmt.Errorf("%s: %s is %s", at, key, n)
				}
			}
		}
		expr, ok := s["pattern"].(string)
		if _, err := regexp.Compile(expr); ok && (err != nil || expr == "" || expr[0] != '^' || expr[len(expr)-1] != '$' || longRepeat.MatchString(expr)) {
			return fmt.Errorf("%s: pattern %q", at, expr)
		}
		if s["prefixItems"] != nil && s["items"] != nil {
			return fmt.Errorf("%s: items beside prefixItems", at)
		}
		return checkModern(s, at)
	})
}

var anthropicName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

func checkAnthropic(root map[string]any) error {
	if err := checkObjectRoot(root); err != nil {
		return err
	}
	return eachSubschema(root, "", func(s map[string]any, at string) error {
		for name := range tree.Object(s["properties"]) {
			if !anthropicName.MatchString(name) {
				return fmt.Errorf("%s: property %q", at, name)
			}
		}
		return checkModern(s, at)
	})
}

var strictKeywords = []string{
	"type", "description", "enum", "anyOf", "properties", "required", "additionalProperties", "items", "$ref", "$defs",
	"pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
}

func checkStrict(root map[string]any, strict bool) error {
	if !strict {
		return checkOpenAI(root)
	}
	if err := checkObjectRoot(root); err != nil {
		return err
	}
	return eachSubschema(root, "", func(s map[string]any, at string) error {
		for key := range s {
			if !slices.Contains(strictKeywords, key) {
				return fmt.Errorf("%s: keyword %s", at, key)
			}
		}
		if s["$ref"] != nil && len(s) > 1 {
			return fmt.Errorf("%s: $ref has company", at)
		}
		if s["type"] == nil && s["anyOf"] == nil && s["$ref"] == nil {
			return fmt.Errorf("%s: no type", at)
		}
		if !slices.Contains(tree.Types(s), "object") {
			return nil
		}
		if s["additionalProperties"] != false {
			return fmt.Errorf("%s: additionalProperties is %v", at, s["additionalProperties"])
		}
		for name := range tree.Object(s["properties"]) {
			if !slices.Contains(tree.Strings(s["required"]), name) {
				return fmt.Errorf("%s: property %s is not required", at, name)
			}
		}
		return nil
	})
}

var geminiKeywords = []string{
	"type", "format", "title", "description", "nullable", "default", "items", "minItems", "maxItems", "enum", "properties",
	"required", "minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern", "anyOf",
}

func checkGemini(root map[string]any, keywords []string) error {
	if root["type"] != "object" {
		return fmt.Errorf("root has the type %v, want object", root["type"])
	}
	return eachSubschema(root, "", func(s map[string]any, at string) error {
		for key := range s {
			if !slices.Contains(keywords, key) {
				return fmt.Errorf("%s: keyword %s", at, key)
			}
		}
		if branches := tree.List(s["anyOf"]); branches != nil {
			if len(s) > 1 || len(branches) < 2 {
				return fmt.Errorf("%s: anyOf of %d with company %v", at, len(branches), s)
			}
			return nil
		}
		properties := tree.Object(s["properties"])
		switch s["type"] {
		case "string", "number", "integer", "boolean":
		case "array":
			if s["items"] == nil {
				return fmt.Errorf("%s: array without items", at)
			}
		case "object":
			if len(properties) == 0 {
				return fmt.Errorf("%s: object without properties", at)
			}
		default:
			return fmt.Errorf("%s: type %v", at, s["type"])
		}
		if s["type"] != "object" && s["properties"] != nil || s["type"] != "array" && s["items"] != nil {
			return fmt.Errorf("%s: keywords of another type beside %v", at, s["type"])
		}
		for _, name := range tree.Strings(s["required"]) {
			if properties[name] == nil {
				return fmt.Errorf("%s: requires %s, which is not a property", at, name)
			}
		}
		for _, v := range tree.List(s["enum"]) {
			if text, ok := v.(string); !ok || text == "" || s["type"] != "string" {
				return fmt.Errorf("%s: enumerates %v", at, v)
			}
		}
		switch s["format"] {
		case nil, "date-time":
		case "enum":
			if len(tree.List(s["enum"])) == 0 {
				return fmt.Errorf("%s: enum without values", at)
			}
		default:
			return fmt.Errorf("%s: format %v", at, s["format"])
		}
		return nil
	})
}

// dialect converts a root that was written for a profile back to JSON Schema.
func dialect(p profile.Profile, root map[string]any) map[string]any {
	switch p {
	case profile.Gemini:
		return objects(root, fromGemini).(map[string]any)
	case profile.LlamaCpp:
		return objects(root, fromLlama).(map[string]any)
	}
	return root
}

// objects returns a copy of a value, in which change has changed each object.
func objects(v any, change func(out map[string]any)) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			out[key] = objects(member, change)
		}
		change(out)
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = objects(item, change)
		}
		return out
	}
	return v
}

// fromLlama removes what llama.cpp does not read beside a reference.
func fromLlama(s map[string]any) {
	if _, ok := s["$ref"].(string); ok {
		maps.DeleteFunc(s, func(key string, _ any) bool { return key != "$ref" && key != "$defs" && key != "definitions" })
	}
}

// fromGemini converts nullable, and closes objects with described properties.
func fromGemini(s map[string]any) {
	kind, typed := s["type"].(string)
	if typed && s["nullable"] == true {
		s["type"] = []any{kind, "null"}
		if values := tree.List(s["enum"]); values != nil {
			s["enum"] = append(slices.Clone(values), nil)
		}
	}
	if kind == "object" {
		s["additionalProperties"] = false
	}
}

// maxHops bounds the references from one subschema to the next.
const maxHops = 16

// relaxed returns a copy of a schema without the keywords that the changes call wider, each removed at its path.
func relaxed(root map[string]any, changes []profile.Change) map[string]any {
	r := relaxer{root}
	out := any(root)
	for _, c := range changes {
		if c.Effect != "wider" {
			continue
		}
		var segments []string
		if c.Path != "" {
			segments = strings.Split(c.Path[1:], "/")
		}
		out = r.at(out, segments, c.Keyword, maxHops)
	}
	return out.(map[string]any)
}

type relaxer struct{ root map[string]any }

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// at removes a keyword at a path below v. The parts of an allOf and the target of a reference have
// the same path as their subschema. A target is copied first, because it may have other users.
func (r relaxer) at(v any, segments []string, keyword string, hops int) any {
	if items, ok := v.([]any); ok && len(segments) > 0 {
		i, err := strconv.Atoi(segments[0])
		if err != nil || i >= len(items) {
			return v
		}
		items = slices.Clone(items)
		items[i] = r.at(items[i], segments[1:], keyword, hops)
		return items
	}
	s, ok := v.(map[string]any)
	if !ok || hops == 0 {
		return v
	}
	out := maps.Clone(s)
	if len(segments) == 0 {
		if keyword == "" {
			return map[string]any{}
		}
		for _, key := range demands(s, keyword) {
			delete(out, key)
		}
	} else if key := unescape.Replace(segments[0]); out[key] != nil {
		out[key] = r.at(out[key], segments[1:], keyword, hops)
		if key == "allOf" || key == "$ref" {
			return out
		}
		// A property may be written with the subschemas of its patterns.
		if patterns := tree.Object(out["patternProperties"]); key == "properties" && patterns != nil {
			out["patternProperties"] = r.patterns(patterns, unescape.Replace(segments[1]), segments[2:], keyword, hops)
		}
	}
	// An alternative may be written with the keywords beside it.
	isAlternative := len(segments) > 1 && (segments[0] == "anyOf" || segments[0] == "oneOf")
	if isAlternative && out["$ref"] == nil && (len(segments) > 2 || keyword != "") {
		out = tree.Object(r.at(out, segments[2:], keyword, hops-1))
	}
	if parts := tree.List(out["allOf"]); parts != nil {
		inside := make([]any, len(parts))
		for i, part := range parts {
			inside[i] = r.at(part, segments, keyword, hops-1)
		}
		out["allOf"] = inside
	}
	if ref, ok := out["$ref"].(string); ok {
		delete(out, "$ref")
		target, _ := (&tree.Document{Root: r.root}).Resolve(ref)
		if len(out) == 0 {
			return r.at(target, segments, keyword, hops-1)
		}
		out["allOf"] = append(slices.Clone(tree.List(out["allOf"])), r.at(target, segments, keyword, hops-1))
	}
	return out
}

// patterns removes a keyword from the patterns that match a property.
func (r relaxer) patterns(all map[string]any, name string, segments []string, keyword string, hops int) map[string]any {
	out := maps.Clone(all)
	for pattern, says := range all {
		if matches, _ := (&tree.Document{Left: 1 << 10}).Matches(pattern, name); matches {
			out[pattern] = r.at(says, segments, keyword, hops-1)
		}
	}
	return out
}

// demands returns the names that a keyword may have in s, by its draft.
func demands(s map[string]any, keyword string) []string {
	_, draft4Low := s["exclusiveMinimum"].(bool)
	_, draft4High := s["exclusiveMaximum"].(bool)
	switch {
	case keyword == "if":
		return []string{"if", "then", "else"}
	case keyword == "prefixItems": // the others go by the place, too
		return []string{"prefixItems", "items", "additionalItems"}
	case keyword == "items" && tree.List(s["items"]) != nil:
		return []string{"additionalItems", "unevaluatedItems"}
	case keyword == "items":
		return []string{"items", "unevaluatedItems"}
	case draft4Low && strings.HasSuffix(keyword, "inimum"):
		return []string{"minimum", "exclusiveMinimum"}
	case draft4High && strings.HasSuffix(keyword, "aximum"):
		return []string{"maximum", "exclusiveMaximum"}
	case keyword == "enum":
		return []string{"enum", "const"}
	}
	return []string{keyword}
}
