package adapter

import (
	"slices"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// dialect converts a root that was written for a profile back to JSON Schema.
func dialect(p profile.Profile, root map[string]any) map[string]any {
	switch p {
	case profile.Gemini:
		return objects(root, fromGemini).(map[string]any)
	case profile.OpenAIStrict:
		if strict := root["additionalProperties"] == false; strict {
			return objects(root, fromStrict).(map[string]any)
		}
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

// fromStrict says of a format that it does not allow the empty string.
func fromStrict(s map[string]any) {
	if _, ok := s["format"].(string); ok {
		s["minLength"] = count(1)
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
