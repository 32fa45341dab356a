package providers

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// TestRequests captures every request of agents and samplers, at every host, and checks it by the
// digest of OpenAI's description and the table of providers' refusals.
func TestRequests(t *testing.T) {
	raw := check.Value(os.ReadFile("testdata/openai-chat-completions.json"))(t)
	digest := check.Value(schema.Compile(raw))(t)
	capture(t, func(e endpoint, by string, request map[string]any) {
		for _, r := range refusals {
			if !r.at(e) {
				continue
			}
			err := r.check(request)
			check.That(t, err == nil, "%s, %s: %s: %v\nin %s", e, by, r.name, err, cut(request))
		}
		additions(e.host, request)
		body := check.Value(json.Marshal(request))(t)
		if err := digest.Validate(body); err != nil {
			t.Errorf("%s, %s: %v\nin %s", e, by, err, cut(request))
		}
		if t.Failed() {
			t.FailNow() // one is enough to see
		}
	})
}

// additions removes a host's own fields from a request.
func additions(host string, request map[string]any) {
	for _, m := range tree.List(request["messages"]) {
		for _, field := range []string{"reasoning_content", "reasoning", "reasoning_details"} {
			delete(tree.Object(m), field)
		}
		if tree.Object(m)["role"] == "tool" && host != "openai" && host != "azure" {
			delete(tree.Object(m), "name")
		}
	}
	switch host {
	case "mistral":
		for _, m := range tree.List(request["messages"]) {
			parts := tree.List(tree.Object(m)["content"])
			if len(parts) > 0 && tree.Object(parts[0])["type"] == "thinking" {
				tree.Object(m)["content"] = slices.Concat(parts[1:], []any{map[string]any{"type": "text", "text": ""}})
			}
		}
		delete(request, "random_seed")
		if request["tool_choice"] == "any" {
			request["tool_choice"] = "required"
		}
	case "gemini", "openrouter":
		for _, m := range tree.List(request["messages"]) {
			for _, call := range tree.List(tree.Object(m)["tool_calls"]) {
				delete(tree.Object(call), "extra_content")
			}
		}
	}
}

// refusal is a known reason of a provider to refuse a whole request.
type refusal struct {
	name  string // the reason, in the provider's words if known
	at    func(e endpoint) bool
	check func(request map[string]any) error
}

func everywhere(endpoint) bool { return true }

func claude(e endpoint) bool { return regexp.MustCompile(`claude`).MatchString(e.model) }

func gemini(e endpoint) bool {
	return e.host == "gemini" || regexp.MustCompile(`gemini`).MatchString(e.model)
}

func moonshot(e endpoint) bool {
	return e.host == "moonshot" || regexp.MustCompile(`kimi`).MatchString(e.model)
}

func llama(e endpoint) bool {
	return e.host == "llamacpp" || e.host == "ollama" || e.host == "lmstudio"
}

func openAI(e endpoint) bool { return !claude(e) && !gemini(e) && !llama(e) }

var refusals = []refusal{
	{"object schema missing properties", everywhere, ofRoots(func(root map[string]any) error {
		_, ok := root["properties"].(map[string]any)
		return refuse(root["type"] != "object" || !ok, root)
	})},
	{"input_schema does not support oneOf, allOf, or anyOf at the top level", everywhere, ofRoots(func(root map[string]any) error { return lacks(root, "anyOf", "oneOf", "allOf", "$ref") })},
	{"schema must not have 'enum' or 'not' at the top level", openAI, ofRoots(func(root map[string]any) error { return lacks(root, "not", "enum", "const") })},
	{"array schema missing items", openAI, ofSchemas(func(s map[string]any) error {
		_, ok := s["items"]
		return refuse(slices.Contains(tree.Types(s), "array") && !ok, s)
	})},
	{"items is not of type 'object', 'boolean'", everywhere, ofSchemas(func(s map[string]any) error {
		_, ok := s["items"].([]any)
		return refuse(ok, s)
	})},
	{"bounds of draft-04", everywhere, ofSchemas(func(s map[string]any) error {
		_, low := s["exclusiveMinimum"].(bool)
		_, high := s["exclusiveMaximum"].(bool)
		return refuse(low || high, s)
	})},
	{"an enumeration of nothing", everywhere, ofSchemas(func(s map[string]any) error {
		values, ok := s["enum"].([]any)
		return refuse(ok && len(values) == 0, s)
	})},
	{"null as the value of a keyword", everywhere, ofSchemas(func(s map[string]any) error {
		for key, v := range s {
			if v == nil && key != "const" && key != "default" {
				return fmt.Errorf("%s is null", key)
			}
		}
		return nil
	})},
	{"property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'", claude, ofSchemas(func(s map[string]any) error {
		for name := range tree.Object(s["properties"]) {
			if !regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString(name) {
				return fmt.Errorf("%q", name)
			}
		}
		return nil
	})},
	{"when using anyOf, type should be defined in anyOf items instead of the parent schema", moonshot, ofSchemas(func(s map[string]any) error {
		if s["anyOf"] != nil {
			return lacks(s, "type")
		}
		return nil
	})},
	{"type is not defined", moonshot, ofSchemas(func(s map[string]any) error {
		return refuse(s["type"] == nil && s["anyOf"] == nil && s["$ref"] == nil, s)
	})},
	{"items must be an object", moonshot, ofSchemas(func(s map[string]any) error {
		items, ok := s["items"]
		return refuse(ok && tree.Object(items) == nil, s)
	})},
	{"Unknown name: Cannot find field", gemini, ofSchemas(func(s map[string]any) error {
		for key := range s {
			if !slices.Contains(geminiKeywords, key) {
				return fmt.Errorf("%s", key)
			}
		}
		return nil
	})},
	{"several types for Gemini", gemini, ofSchemas(func(s map[string]any) error {
		_, one := s["type"].(string)
		return refuse(!one && s["anyOf"] == nil, s)
	})},
	{"should be non-empty for OBJECT type; items: missing field", gemini, ofSchemas(func(s map[string]any) error {
		return refuse(s["type"] == "object" && len(tree.Object(s["properties"])) == 0 || s["type"] == "array" && s["items"] == nil, s)
	})},
	{"enum: only allowed for STRING type; cannot be empty", gemini, ofSchemas(func(s map[string]any) error {
		for _, v := range tree.List(s["enum"]) {
			if text, ok := v.(string); !ok || text == "" || s["type"] != "string" {
				return fmt.Errorf("%v", v)
			}
		}
		return nil
	})},
	{"'tool_choice' and 'parallel_tool_calls' are only allowed when 'tools' are specified", everywhere, func(request map[string]any) error {
		if len(tree.List(request["tools"])) == 0 {
			return lacks(request, "tools", "tool_choice", "parallel_tool_calls")
		}
		return nil
	}},
	{"'metadata' is only allowed when 'store' is enabled", openAI, func(request map[string]any) error {
		return refuse(request["metadata"] != nil && request["store"] != true, request["store"])
	}},
	{"Invalid function name. Must start with a letter or an underscore", everywhere, func(request map[string]any) error {
		for _, tool := range tree.List(request["tools"]) {
			name, _ := tree.Object(tree.Object(tool)["function"])["name"].(string)
			if !regexp.MustCompile(`^[a-zA-Z_]`).MatchString(name) {
				return fmt.Errorf("%q", name)
			}
		}
		return nil
	}},
	{"two tools of one name", everywhere, func(request map[string]any) error {
		seen := map[string]bool{}
		for _, tool := range tree.List(request["tools"]) {
			name, _ := tree.Object(tree.Object(tool)["function"])["name"].(string)
			if seen[name] {
				return fmt.Errorf("%q", name)
			}
			seen[name] = true
		}
		return nil
	}},
}

var geminiKeywords = []string{
	"type", "format", "title", "description", "nullable", "default", "items", "minItems", "maxItems", "enum", "properties",
	"required", "minProperties", "maxProperties", "minimum", "maximum", "minLength", "maxLength", "pattern", "anyOf",
}

// refuse returns an error about a value if it is wrong.
func refuse(wrong bool, about any) error {
	if wrong {
		return fmt.Errorf("%v", about)
	}
	return nil
}

// lacks reports a member that an object must not have.
func lacks(o map[string]any, keys ...string) error {
	for _, key := range keys {
		if _, ok := o[key]; ok {
			return fmt.Errorf("%s", key)
		}
	}
	return nil
}

func ofRoots(check func(root map[string]any) error) func(request map[string]any) error {
	return func(request map[string]any) error {
		for _, tool := range tree.List(request["tools"]) {
			function := tree.Object(tree.Object(tool)["function"])
			if err := check(tree.Object(function["parameters"])); err != nil {
				return fmt.Errorf("tool %v: %w", function["name"], err)
			}
		}
		return nil
	}
}

// ofSchemas checks the schema of each tool and all its subschemas.
func ofSchemas(check func(s map[string]any) error) func(request map[string]any) error {
	return ofRoots(func(root map[string]any) error {
		for s := range tree.All(root) {
			if err := check(s); err != nil {
				return err
			}
		}
		return nil
	})
}
