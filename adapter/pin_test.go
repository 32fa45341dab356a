package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// TestRepeatedMembers checks that a model reads only what the fingerprint covers: of members with the same name the last.
func TestRepeatedMembers(t *testing.T) {
	once := toolWith(t, `{"type":"object","properties":{"a":{"type":"string","description":"one"}}}`)
	twice := toolWith(t, `{"type":"object","properties":{"a":{"type":"string","description":"hidden","description":"one"}}}`)
	check.Equal(t, "fingerprint", twice.Fingerprint(), once.Fingerprint())
	for _, p := range profile.All() {
		shown, err := json.Marshal(newCatalog([]*Tool{twice}, p, minResult).Definitions()[0].Function.Parameters)
		check.That(t, err == nil && !strings.Contains(string(shown), "hidden"), "%s: got %s, %v, want only the last description", p, shown, err)
	}
}

func TestFingerprint(t *testing.T) {
	yes := true
	tool := mcp.Tool{Name: "a", Description: "b", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"maximum":9007199254740993}}}`)}
	same := tool
	same.InputSchema = json.RawMessage("{ \"properties\": {\"x\":{\"maximum\":9007199254740993}},\n\"type\":\"object\"}")
	same.Meta, same.Icons = json.RawMessage(`{"x":1,"ui":{"visibility":["app","model"]}}`), []mcp.Icon{{}}
	check.Equal(t, "different fingerprints", Fingerprint(&tool), Fingerprint(&same))
	for name, change := range map[string]func(*mcp.Tool){
		"name":          func(t *mcp.Tool) { t.Name = "c" },
		"shifted":       func(t *mcp.Tool) { t.Name, t.Description = "ab", "" },
		"title":         func(t *mcp.Tool) { t.Title = "c" },
		"description":   func(t *mcp.Tool) { t.Description = "c" },
		"schema":        func(t *mcp.Tool) { t.InputSchema = bytes.Replace(t.InputSchema, []byte("740993"), []byte("740992"), 1) },
		"output schema": func(t *mcp.Tool) { t.OutputSchema = json.RawMessage(`{}`) },
		"visibility":    func(t *mcp.Tool) { t.Meta = json.RawMessage(`{"ui":{"visibility":["model"]}}`) },
		"annotation":    func(t *mcp.Tool) { t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: &yes} },
	} {
		changed := tool
		change(&changed)
		check.That(t, Fingerprint(&tool) != Fingerprint(&changed), "%s: got the same fingerprint, want another", name)
	}
}

func TestPins(t *testing.T) {
	first := open(t, nil, Server{Name: "p", Transport: newPeer().tool("a", object, echo).tool("b", object, echo).transport(t)})
	pins := first.Pins()["p"]
	tools := first.Servers()[0].Tools
	check.Same(t, "pins", pins, map[string]string{"a": tools[0].Fingerprint(), "b": tools[1].Fingerprint()})
	ts := newPeer().tool("a", queried, echo).tool("b", object, echo).tool("c", object, echo).openAs(t, nil, Server{Pins: pins})
	wantTools(t, ts, "b")
	for name, want := range map[string]string{"a": "has changed since it was pinned", "c": "is not pinned"} {
		check.Text(t, ts.Servers()[0].Skipped[name], want)
	}
	check.Equal(t, "the caller's pins changed", len(pins), 2)
}

// With Pin the first definition holds: a server cannot swap a tool later.
func TestPinAtFirstUse(t *testing.T) {
	p := newPeer().tool("a", object, echo).tool("b", object, echo)
	ts := p.open(t, &Options{Policy: Policy{Pin: true}})
	p.tool("a", queried, echo)
	check.Must(t, ts.Refresh(t.Context()))
	wantTools(t, ts, "b")
	p.tool("a", object, echo)
	check.Must(t, ts.Refresh(t.Context()))
	wantTools(t, ts, "a", "b")
}

// No profile changes the texts of a tool: the model gets what a person reviewed or pinned.
func TestTextsOfToolsAreUnchanged(t *testing.T) {
	const text = "do \x1b[2J\u0085\u202e\u200b\U000e0041 it"
	encode := func(v any) string { return string(check.Value(json.Marshal(v))(t)) }
	word := encode(text)
	def := &mcp.Tool{Name: "f", Description: text, InputSchema: json.RawMessage(
		`{"type":"object","properties":{"a":{"type":"string","description":` + word + `,"enum":[` + word + `]}},"required":["a"]}`)}
	tool := check.Value(NewFuncTool(def, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return nil, nil }, nil))(t)
	for _, target := range []profile.Profile{profile.Plain, profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.GoogleAI} {
		got := tool.Catalog(target).Definitions()[0].Function
		var schema struct {
			Properties struct {
				A struct {
					Description string
					Enum        []string
				}
			}
		}
		check.Must(t, json.Unmarshal([]byte(encode(got.Parameters)), &schema))
		a := schema.Properties.A
		enum := target == profile.GoogleAI || len(a.Enum) == 1 && a.Enum[0] == text // GoogleAI has it in the description
		check.That(t, got.Description == text && strings.HasPrefix(a.Description, text) && enum,
			"%s: got %q and %q, want the texts as they were", target, got.Description, a)
	}
}
