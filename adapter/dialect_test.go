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
		return fromGemini(root).(map[string]any)
	case profile.OpenAIStrict:
		if strict := root["additionalProperties"] == false; strict {
			return fromStrict(root).(map[string]any)
		}
	}
	return root
}

// fromStrict removes formats. No format allows the empty string.
func fromStrict(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			out[key] = fromStrict(member)
		}
		if _, ok := v["format"].(string); ok {
			out["minLength"] = count(1)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = fromStrict(item)
		}
		return out
	}
	return v
}

// fromGemini converts nullable, and closes objects with described properties.
func fromGemini(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			out[key] = fromGemini(member)
		}
		kind, typed := v["type"].(string)
		if typed && v["nullable"] == true {
			out["type"] = []any{kind, "null"}
			if values := tree.List(v["enum"]); values != nil {
				out["enum"] = append(slices.Clone(values), nil)
			}
		}
		if kind == "object" {
			out["additionalProperties"] = false
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = fromGemini(item)
		}
		return out
	}
	return v
}
