package config_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Any text causes no panic, errors are one short line, and if encoding/json
// accepts the text, the servers have its order and number.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "x", "args": ["${A:-b}"]}}}`))
	f.Add([]byte("\ufeff{\"servers\": {\"a\": {\"url\": \"http://x\", // c\n}, /* d */ }}"))
	f.Add([]byte(`{"servers": {"a": {"comand": 1}, "a": {}, "": {}}, "mcpServers": {"a": {"env": {"b": "", "b": 1}}}}`))
	f.Add([]byte(`{"servers": {"a": {"command": "$${${A}", "envFile": "e", "disabled": true}}}`))
	f.Add([]byte(`{"mcp": {"a": {"command": ["x"], "timeout": 1e3, "tools": ["*"]}}, "inputs": [{"id": "i", "type": "promptString"}]}`))
	f.Add([]byte(`{"context_servers": {"a": {"serverUrl": "http://${input:i}", "oauth": {"scopes": "a b", "callbackPort": 1}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := parse("f", data, func(name string) (string, bool) { return name, name != "X" })
		if err != nil {
			oneLine(t, err)
			return
		}
		var plain struct {
			A map[string]json.RawMessage `json:"mcpServers"`
			B map[string]json.RawMessage `json:"servers"`
		}
		exact := !bytes.Contains(data, []byte("_")) && !bytes.Contains(data, []byte(`\u`)) && !bytes.Contains(data, []byte(`"mcp"`)) && !bytes.Contains(data, []byte(`"mcp.`)) && !strings.Contains(strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(string(data), "mcpServers", ""), "servers", "")), "servers")
		if json.Unmarshal(data, &plain) == nil && exact {
			want := map[string]bool{} // a server in both objects counts once
			for _, object := range []map[string]json.RawMessage{plain.A, plain.B} {
				for name := range object {
					want[name] = true
				}
			}
			check.Equal(t, "servers", len(cfg.Servers), len(want))
		}
		names := map[string]bool{}
		for _, s := range cfg.Servers {
			if names[s.Name] || s.Name == "" && s.Err == nil || (s.Transport == nil) != s.Disabled {
				t.Errorf("got %+v", s)
			}
			names[s.Name] = true
			oneLine(t, s.Err)
		}
	})
}

func oneLine(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	text := err.Error()
	check.That(t, !strings.Contains(text, "\n") && len(text) <= 2000, "error is not one short line: %q", text)
}
