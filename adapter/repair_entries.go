package adapter

import "github.com/mcpchain/mcpchain/internal/schema/rewrite"

// entries makes the object of a list of names and values that some profiles ask
// for instead. Of a name that is there twice the last value counts.
func entries(items []any) (map[string]any, bool) {
	out := make(map[string]any, len(items))
	for _, item := range items {
		entry, _ := item.(map[string]any)
		name, ok := entry[rewrite.EntryName].(string)
		value, hasValue := entry[rewrite.EntryValue]
		text, hasJSON := entry[rewrite.EntryJSON].(string)
		known := 1
		if hasValue {
			known++
		}
		if hasJSON {
			known++
			value = insideString(text)[0]
		}
		if !ok || known != len(entry) {
			return nil, false
		}
		out[name] = value
	}
	return out, true
}
