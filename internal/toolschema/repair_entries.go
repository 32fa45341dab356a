package toolschema

import (
	"strings"

	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
)

// entries converts a list of names and values, which some profiles ask for, to an object. The last
// value of a repeated name counts. If an entry has both a value and JSON, the JSON counts unless it
// is empty.
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
