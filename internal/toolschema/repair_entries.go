package toolschema

import (
	"strings"

	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
)

// entries makes the object of a list of names and values that some profiles ask
// for instead. Of a name that is there twice the last value counts, and in an
// entry with both a value and JSON, unless that has no text, the JSON.
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
		}
		if !ok || known != len(entry) {
			return nil, false
		}
		if strings.TrimSpace(text) != "" {
			value = insideString(text)[0]
		}
		out[name] = value
	}
	return out, true
}
