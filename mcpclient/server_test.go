package mcpclient_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func ExampleServerCapabilities_String() {
	server := mcp.Server{Capabilities: mcp.ServerCapabilities{
		Tools:     &mcp.ListCapability{ListChanged: true},
		Resources: &mcp.ResourceCapability{Subscribe: true},
		Logging:   &struct{}{},
	}}
	fmt.Println("the server offers", server.Capabilities)
	// Output: the server offers tools (list changes), resources (subscribe), logging
}

func TestServerCapabilitiesString(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`: "nothing",
		`{"tools":{},"prompts":{},"resources":{},"completions":{},"logging":{},"tasks":{}}`:  "tools, prompts, resources, completions, logging, tasks",
		`{"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}`: "prompts (list changes), resources (list changes, subscribe)",
		`{"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`:                 "tasks (tool calls, list, cancel)",
		`{"extensions":{"b/\n":{},"a/x":{}},"experimental":{"y":{}}}`:                        `extension "a/x", extension "b/\n", experimental "y"`,
		`{"extensions":{"` + strings.Repeat("n", 2000) + `":{}}}`:                            `extension "` + strings.Repeat("n", 1013) + "…",
	} {
		var c mcp.ServerCapabilities
		if err := json.Unmarshal([]byte(raw), &c); err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{fmt.Sprint(c), fmt.Sprint(&c)} {
			if got != want {
				t.Errorf("%s: got %q, want %q", raw, got, want)
			}
		}
	}
}

func TestServerIsKeptWhole(t *testing.T) {
	for revision, answer := range map[string]string{
		mcp.Revision20260728: `{"supportedVersions":["2026-07-28","2027-01-01"],"capabilities":{"com.example/x":{"y":1}},"_meta":{"k":1}}`,
		mcp.Revision20251125: `{"protocolVersion":"2025-11-25","capabilities":{"com.example/x":{"y":1}},"serverInfo":{"name":"s","version":"1"},"_meta":{"k":1}}`,
	} {
		c := connected(t, library(map[string]string{"server/discover": answer, "initialize": answer}), &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}})
		got := c.Server()
		if string(got.Meta) != `{"k":1}` || string(got.Capabilities.Others["com.example/x"]) != `{"y":1}` || got.Capabilities.String() != `unknown "com.example/x"` {
			t.Errorf("%s: got %+v, want _meta and the unknown capability", revision, got)
		}
		if modern := revision == mcp.Revision20260728; modern != slices.Equal(got.Revisions, []string{"2026-07-28", "2027-01-01"}) {
			t.Errorf("%s: got the revisions %q", revision, got.Revisions)
		}
		_ = c.Close()
	}
}
