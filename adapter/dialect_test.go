package adapter

import "github.com/mcpchain/mcpchain/adapter/profile"

import "slices"

// dialect is what a root written for a profile says, as JSON Schema.
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

// fromStrict checks the rules of the strict subset: formats. No format has an
// empty text.
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

// fromGemini writes what differs in Gemini's dialect as JSON Schema does: nullable,
// and objects, which have the properties that are described and no others.
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
			if values := list(v["enum"]); values != nil {
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
