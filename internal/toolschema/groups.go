package toolschema

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// groupsKey is the entry of _meta with a tool's groups.
const groupsKey = "io.modelcontextprotocol/groups"

// Groups returns the names of the groups to which a server assigns a tool with this _meta.
func Groups(meta json.RawMessage) []string { return Strings(jsonrpc.Lookup(meta, groupsKey)) }

// Strings returns the strings in a value: a string, or a list of strings or of objects with a name or title.
func Strings(raw json.RawMessage) (out []string) {
	var groups []json.RawMessage
	if json.Unmarshal(raw, &groups) != nil {
		groups = []json.RawMessage{raw}
	}
	for _, g := range groups {
		for _, raw := range []json.RawMessage{g, jsonrpc.Lookup(g, "name"), jsonrpc.Lookup(g, "title")} {
			if text, ok := jsonrpc.String(raw); ok {
				out = append(out, text)
			}
		}
	}
	return out
}
