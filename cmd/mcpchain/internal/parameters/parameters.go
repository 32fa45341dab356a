// Package parameters says in words what the JSON Schema of a tool takes or gives.
package parameters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
)

// Bounds of a schema that is shown.
const (
	maxLines = 60
	maxDepth = 4
	maxJSON  = 2000 // characters
)

// node is what a person needs to know of a schema.
type node struct {
	Type        any             `json:"type"`
	Description string          `json:"description"`
	Properties  json.RawMessage `json:"properties"`
	Required    []string        `json:"required"`
	Items       json.RawMessage `json:"items"`
	Enum        []any           `json:"enum"`
	Const       json.RawMessage `json:"const"`
	Default     json.RawMessage `json:"default"`
	Ref         string          `json:"$ref"`
	AnyOf       []any           `json:"anyOf"`
	OneOf       []any           `json:"oneOf"`
}

// Lines describes an object, a member on each line: none for an object without members. What is not read is shown as
// JSON.
func Lines(schema json.RawMessage) []string {
	var n node
	if json.Unmarshal(schema, &n) != nil {
		return []string{hosttext.Line(hosttext.JSON(string(schema)), maxJSON)}
	}
	lines := n.members("", 0)
	if more := len(lines) - maxLines; more > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("… (%d more lines)", more))
	}
	return lines
}

// members are a line for each member of an object, and below it the members of that.
func (n *node) members(indent string, depth int) (lines []string) {
	if depth >= maxDepth {
		return []string{indent + "…"}
	}
	for _, name := range keys(n.Properties) {
		var all map[string]json.RawMessage
		_ = json.Unmarshal(n.Properties, &all) // keys has read it
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
		if len(lines) > 2*maxLines {
			break
		}
	}
	return lines
}

// line is a member on a line: its name, what it takes, and the server's words.
func (n *node) line(name string, required bool) string {
	kind := n.kind()
	if required {
		kind += ", required"
	}
	if len(n.Default) > 0 {
		kind += ", default " + hosttext.JSON(string(n.Default))
	}
	text := fmt.Sprintf("%s (%s) %s", hosttext.Line(name, 80), strings.TrimPrefix(kind, ", "), hosttext.Line(n.Description, 300))
	return strings.TrimRight(strings.Replace(text, " ()", "", 1), " ")
}

func (n *node) kind() string {
	if len(n.Enum) > 0 {
		var values []string
		for _, v := range n.Enum[:min(len(n.Enum), 20)] {
			values = append(values, hosttext.Line(fmt.Sprint(v), 60))
		}
		if len(n.Enum) > 20 {
			values = append(values, "…")
		}
		return "one of " + strings.Join(values, " | ")
	}
	switch t := n.Type.(type) {
	case string:
		var items node
		if t == "array" && json.Unmarshal(n.Items, &items) == nil && items.kind() != "" {
			return "list of " + items.kind()
		}
		return hosttext.Line(t, 40)
	case []any:
		var names []string
		for _, name := range t[:min(len(t), 8)] {
			names = append(names, hosttext.Line(fmt.Sprint(name), 40))
		}
		return strings.Join(names, " or ")
	}
	switch {
	case len(n.Const) > 0:
		return hosttext.Line(hosttext.JSON(string(n.Const)), 60)
	case len(n.AnyOf)+len(n.OneOf) > 0:
		return "one of several forms"
	case n.Ref != "":
		return "see " + hosttext.Line(n.Ref, 80)
	}
	return ""
}

// keys are the names of an object's members, in their order.
func keys(object json.RawMessage) (names []string) {
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
