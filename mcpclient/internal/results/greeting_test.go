package results

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// What is read by hand is what encoding/json reads of the members that the era has.
func TestGreeting(t *testing.T) {
	for _, raw := range []string{
		`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`,
		`{"supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{}},"instructions":"Ask \"twice\".\n\ud83d\ude00"}`,
		`{"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":false},"resources":{"subscribe":true,"listChanged":true},` +
			`"completions":{},"logging":{"levels":[1]},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}},` +
			`"extensions":{"io.modelcontextprotocol/tasks":{"a":[1,2]}},"experimental":{"x":null}}}`,
		`{"capabilities":{"tools":null,"resources":null,"completions":null,"logging":null,"tasks":null,"extensions":null,"experimental":null}}`,
		`{"capabilities":null,"serverInfo":null,"instructions":null,"protocolVersion":null,"supportedVersions":null,"_meta":null}`,
		`{"serverInfo":{"name":"s","title":"S","version":"1","description":"d","websiteUrl":"https://s.example","icons":[{"src":"a","sizes":["1x1"]}],"x":[{}]}}`,
		`{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":null},"x":{}},"serverInfo":{"name":"s"}}`,
		`{"_meta":{"io.modelcontextprotocol/serverInfo":{"version":"2"}},"serverInfo":{"name":"s"}}`,
		`[]`, `"text"`, `{"capabilities":[1]}`, `{"capabilities":{"tools":true}}`, `{"capabilities":{"logging":1}}`,
		`{"capabilities":{"resources":{"subscribe":"yes"}}}`, `{"capabilities":{"tasks":[1]}}`, `{"serverInfo":{"name":1}}`,
		`{"serverInfo":{"icons":{}}}`, `{"supportedVersions":"2026-07-28"}`, `{"supportedVersions":[1]}`, `{"_meta":[1]}`, `{"_meta":{"io.modelcontextprotocol/serverInfo":"x"}}`,
		`{"protocolVersion":1}`, `{"capabilities":{"tools":{"listChanged":null}}}`, `{"instructions":{}}`,
	} {
		for _, modern := range []bool{false, true} {
			var want struct {
				Capabilities mcp.ServerCapabilities
				ServerInfo   mcp.Implementation
				Instructions string
				Meta         any `json:"_meta"`
			}
			var legacyOnly struct{ ProtocolVersion string }
			var modernOnly struct {
				SupportedVersions []string
				Meta              struct {
					ServerInfo mcp.Implementation `json:"io.modelcontextprotocol/serverInfo"`
				} `json:"_meta"`
			}
			wantErr := json.Unmarshal([]byte(raw), &want)
			if modern {
				wantErr = errors.Join(wantErr, json.Unmarshal([]byte(raw), &modernOnly))
			} else {
				wantErr = errors.Join(wantErr, json.Unmarshal([]byte(raw), &legacyOnly))
			}
			if modernOnly.Meta.ServerInfo.Name != "" {
				want.ServerInfo = modernOnly.Meta.ServerInfo
			}
			server := &mcp.Server{Info: want.ServerInfo, Capabilities: want.Capabilities, Instructions: want.Instructions}
			if _, isObject := want.Meta.(map[string]any); isObject {
				server.Meta, _ = json.Marshal(want.Meta)
			}
			got := Greeting{Modern: modern}
			err := jsonrpc.DecodeResult([]byte(raw), &got)
			switch {
			case (err == nil) != (wantErr == nil):
				t.Errorf("modern %t: %s: got %v, want as %v", modern, raw, err, wantErr)
			case err != nil:
			case got.Revision != legacyOnly.ProtocolVersion, !slices.Equal(got.Revisions, modernOnly.SupportedVersions), !reflect.DeepEqual(got.Server, server):
				t.Errorf("modern %t: %s:\ngot  %+v\nwant %+v", modern, raw, got, want)
			}
		}
	}
}

// PHP writes an empty object as an empty list.
func TestGreetingOfPHP(t *testing.T) {
	wantCapabilities(t, `{"tools":[],"prompts":[ ],"resources":[],"completions":[],"logging":[],"tasks":[],"extensions":[],"experimental":[]}`, mcp.ServerCapabilities{
		Tools: new(mcp.ListCapability), Prompts: new(mcp.ListCapability), Resources: new(mcp.ListCapability),
		Completions: new(struct{}), Logging: new(struct{}), Tasks: new(mcp.TaskCapability),
	})
	wantCapabilities(t, `[]`, mcp.ServerCapabilities{})
	for _, wrong := range []string{`{"tools":[1]}`, `{"logging":[{}]}`, `{"experimental":[1]}`, `{"resources":["subscribe"]}`, `["tools"]`} {
		check.Fails(t, jsonrpc.DecodeResult([]byte(`{"protocolVersion":"2025-11-25","capabilities":`+wrong+`}`), new(Greeting)), wrong)
	}
}

// What other lists say of subscriptions means nothing: the specification has it for resources.
func TestGreetingSubscribesToResourcesOnly(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"tools":{"subscribe":"yes","listChanged":true},"prompts":{"subscribe":{},"listChanged":true},"resources":{"subscribe":true}}`: true,
		`{"tools":{"subscribe":true,"listChanged":true},"prompts":{"subscribe":true,"listChanged":true},"resources":{}}`:                false,
	} {
		list := &mcp.ListCapability{ListChanged: true}
		wantCapabilities(t, raw, mcp.ServerCapabilities{Tools: list, Prompts: list, Resources: &mcp.ListCapability{Subscribe: want}})
	}
}

func wantCapabilities(t *testing.T, raw string, want mcp.ServerCapabilities) {
	t.Helper()
	var got Greeting
	check.Must(t, jsonrpc.DecodeResult([]byte(`{"protocolVersion":"2025-11-25","capabilities":`+raw+`,"serverInfo":{"name":"s"}}`), &got))
	check.Same(t, raw, got.Server.Capabilities, want)
}

// The _meta is kept within bounds.
func TestGreetingKeepsMeta(t *testing.T) {
	for raw, want := range map[string]int{ // bytes
		`{"_meta":{"k":1}}`: 7,
		`{"_meta":{}}`:      2,
		`{"_meta":{"k":"` + strings.Repeat("x", maxKeptMeta) + `"}}`: 0,
	} {
		for _, modern := range []bool{false, true} {
			got := Greeting{Modern: modern}
			check.Must(t, jsonrpc.DecodeResult([]byte(raw), &got))
			check.Equal(t, raw[:12]+": bytes", len(got.Server.Meta), want)
		}
	}
}
