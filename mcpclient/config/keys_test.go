package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpchain/mcpchain/internal/check"
)

// The guide names every key and every alias.
func TestKeysAreDocumented(t *testing.T) {
	guide := string(check.Value(os.ReadFile("../../docs/mcp-json.md"))(t))
	known := slices.Concat(serverKeys.known, serverKeys.foreign, slices.Collect(maps.Keys(serverKeys.aliases)), slices.Collect(maps.Keys(serverKeys.unsupported)), slices.Collect(maps.Keys(oauthKeys.unsupported)))
	for _, k := range known {
		check.Contains(t, "docs/mcp-json.md", guide, "`"+k+"`")
	}
	check.That(t, slices.IsSorted(serverKeys.known), "got %v, want the keys sorted", serverKeys.known)
}

// Each name of another program does what the known key does, and so does each value of "type".
func TestNamesOfOtherPrograms(t *testing.T) {
	values := map[string]string{
		"url": `"https://a.example"`, "oauth": `{"clientId": "c"}`, "includeTools": `["t"]`, "excludeTools": `["t"]`, "disabled": "true",
	}
	read := func(key, value string) Server {
		t.Helper()
		entry := ""
		if serverKeys.canonical(key) != "url" {
			entry = `, "url": "https://a.example"`
		}
		loader := Loader{AllowFilters: true, AllowSignIn: true}
		cfg, err := loader.LoadData(t.Context(), "mcp.json", fmt.Appendf(nil, `{"mcpServers": {"s": {%q: %s%s}}}`, key, value, entry))
		check.Require(t, err == nil && cfg[0].Err == nil, "%s: %v, %v", key, err, cfg)
		return cfg[0]
	}
	for alias, key := range serverKeys.aliases {
		value := values[key]
		if value == "" {
			t.Errorf("no value for %s", key)
			continue
		}
		other := value
		if alias == "enabled" {
			other = "false"
		}
		check.Same(t, key, read(alias, other), read(key, value), cmpopts.IgnoreUnexported(Server{}))
	}
	const remote, local = "https://a.example", "x"
	for typ, where := range map[string]string{
		"stdio": local, "local": local, "http": remote, "streamable-http": remote, "streamableHttp": remote,
		"streamable_http": remote, "sse": remote,
	} {
		key := map[string]string{local: "command", remote: "url"}[where]
		cfg, err := new(Loader).LoadData(t.Context(), "mcp.json", fmt.Appendf(nil, `{"mcpServers": {"s": {"type": %q, %q: %q}}}`, typ, key, where))
		check.That(t, err == nil && cfg[0].Err == nil, "%s: %v, %v", typ, err, cfg)
	}
	check.Equal(t, "types", len(types), 7)
}
