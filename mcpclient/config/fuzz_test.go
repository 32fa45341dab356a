package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// Whatever the bytes: no panic, errors of one short line, and the servers in
// the order and number that encoding/json sees where it accepts the text too.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "x", "args": ["${A:-b}"]}}}`))
	f.Add([]byte("\ufeff{\"servers\": {\"a\": {\"url\": \"http://x\", // c\n}, /* d */ }}"))
	f.Add([]byte(`{"servers": {"a": {"command": "$${${A}", "envFile": "e", "disabled": true}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := config.Parse("f", data, func(name string) (string, bool) { return name, name != "X" })
		if err != nil {
			if text := err.Error(); strings.Contains(text, "\n") || len(text) > 2000 {
				t.Errorf("error is not one short line: %q", text)
			}
			return
		}
		var plain struct {
			A map[string]json.RawMessage `json:"mcpServers"`
			B map[string]json.RawMessage `json:"servers"`
		}
		exact := !strings.Contains(strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(string(data), "mcpServers", ""), "servers", "")), "servers")
		if json.Unmarshal(data, &plain) == nil && exact && len(cfg.Servers) != len(plain.A)+len(plain.B) {
			t.Errorf("got %d servers, want %d", len(cfg.Servers), len(plain.A)+len(plain.B))
		}
		for _, s := range cfg.Servers {
			if s.Name == "" || (s.Transport == nil) != s.Disabled {
				t.Errorf("got %+v", s)
			}
		}
	})
}
