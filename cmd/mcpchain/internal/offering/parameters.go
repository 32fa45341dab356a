package offering

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
)

// Bounds of a description.
const (
	maxLines  = 60
	maxDepth  = 4    // of nested objects, and of nested lists
	maxJSON   = 2000 // characters of a schema that cannot be described
	maxValues = 20   // in an enum
	maxTypes  = 8    // for a member
	maxValue  = 60   // characters of a value
)

// node has the keywords of a schema that are described.
type node struct {
	Type        any               `json:"type"`
	Description string            `json:"description"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	Items       json.RawMessage   `json:"items"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Default     json.RawMessage   `json:"default"`
	Ref         string            `json:"$ref"`
	AnyOf       []any             `json:"anyOf"`
	OneOf       []any             `json:"oneOf"`
}

// Parameters describes the JSON Schema of a tool's arguments or result: the members of an object, one
// on each line, up to maxLines. Other values have no lines. A schema that cannot be read is returned as
// it is, cut to maxJSON characters.
func Parameters(schema json.RawMessage) []string {
	var n node
	if json.Unmarshal(schema, &n) != nil {
		return []string{hosttext.Line(hosttext.JSONLine(string(schema)), maxJSON)}
	}
	lines := n.members("", 0)
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("… (%d more lines)", more))
	}
	return lines
}

// members returns a line for each member of an object, followed by the indented members of its value.
func (n *node) members(indent string, depth int) (lines []string) {
	names := memberNames(n.Properties)
	if depth >= maxDepth && len(names) > 0 {
		return []string{indent + "…"}
	}
	var all map[string]json.RawMessage
	_ = json.Unmarshal(n.Properties, &all) // memberNames returns nil if this fails
	for _, name := range names {
		var member node
		if json.Unmarshal(all[name], &member) != nil {
			lines = append(lines, indent+hosttext.Line(name, 80))
			continue
		}
		lines = append(lines, indent+member.line(name, slices.Contains(n.Required, name)))
		lines = append(lines, member.members(indent+"  ", depth+1)...)
		var items node
		if len(member.Items) > 0 && json.Unmarshal(member.Items, &items) == nil {
			lines = append(lines, items.members(indent+"  ", depth+1)...)
		}
	}
	return lines
}

// line returns the line for a member: its name, its type, and the server's description.
func (n *node) line(name string, required bool) string {
	kind := n.kind(0)
	if required {
		kind += ", required"
	}
	if len(n.Default) > 0 {
		kind += ", default " + hosttext.Line(hosttext.JSONLine(string(n.Default)), maxValue)
	}
	kind = strings.TrimPrefix(kind, ", ")
	text := fmt.Sprintf("%s (%s) %s", hosttext.Line(name, 80), kind, hosttext.Line(n.Description, 300))
	return strings.TrimRight(strings.Replace(text, " ()", "", 1), " ")
}

// kind returns the type of a value, "" if it is not known. depth counts the lists around the value.
func (n *node) kind(depth int) string {
	if len(n.Enum) > 0 {
		var values []string
		for _, v := range n.Enum[:min(len(n.Enum), maxValues)] {
			var text string
			if json.Unmarshal(v, &text) != nil || string(v) == "null" {
				text = hosttext.JSONLine(string(v))
			}
			values = append(values, hosttext.Line(text, maxValue))
		}
		if len(n.Enum) > maxValues {
			values = append(values, "…")
		}
		return "one of " + strings.Join(values, " | ")
	}
	switch t := n.Type.(type) {
	case string:
		var items node
		if t == "array" && depth < maxDepth && json.Unmarshal(n.Items, &items) == nil {
			if kind := items.kind(depth + 1); kind != "" {
				return "list of " + kind
			}
		}
		return hosttext.Line(t, 40)
	case []any:
		var names []string
		for _, name := range t[:min(len(t), maxTypes)] {
			names = append(names, hosttext.Line(fmt.Sprint(name), 40))
		}
		return strings.Join(names, " or ")
	}
	switch {
	case len(n.Const) > 0:
		return hosttext.Line(hosttext.JSONLine(string(n.Const)), maxValue)
	case len(n.AnyOf)+len(n.OneOf) > 0:
		return "one of several forms"
	case n.Ref != "":
		return "see " + hosttext.Line(n.Ref, 80)
	}
	return ""
}

// memberNames returns the names of an object's members in their order, nil for other JSON.
func memberNames(object json.RawMessage) (names []string) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil
		}
		names = append(names, fmt.Sprint(name))
	}
	return names
}
