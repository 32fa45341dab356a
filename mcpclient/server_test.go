package mcpclient_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient"
)

func ExampleServerCapabilities_String() {
	server := mcpclient.Server{Capabilities: mcpclient.ServerCapabilities{
		Tools:     &mcpclient.ListCapability{ListChanged: true},
		Resources: &mcpclient.ResourceCapability{Subscribe: true},
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
		var c mcpclient.ServerCapabilities
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
