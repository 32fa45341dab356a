package results

import (
	"encoding/json"
	"errors"
	"math"
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

// Everything that some revision has in an item of a list is read and written again.
func TestItemsAreWhole(t *testing.T) {
	const (
		icons       = `"icons":[{"src":"data:,","mimeType":"image/png","sizes":["1x1"],"theme":"dark"}]`
		annotations = `"annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"}`
		meta        = `"_meta":{"k":1}`
		named       = `"name":"n","title":"t","description":"d"`
	)
	checkItem[mcp.Tool](t, "tools", `{`+named+`,"inputSchema":{"type":"object"},"outputSchema":{"type":"array"},`+
		`"annotations":{"title":"a","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},`+icons+`,"execution":{"taskSupport":"optional"},`+meta+`}`)
	checkItem[mcp.Resource](t, "resources", `{"uri":"file:///a",`+named+`,"mimeType":"text/plain","size":0,`+icons+`,`+annotations+`,`+meta+`}`)
	checkItem[mcp.ResourceTemplate](t, "resourceTemplates", `{"uriTemplate":"file:///{a}",`+named+`,"mimeType":"text/plain",`+icons+`,`+annotations+`,`+meta+`}`)
	checkItem[mcp.Prompt](t, "prompts", `{`+named+`,"arguments":[{`+named+`,"required":true}],`+icons+`,`+meta+`}`)
}

func checkItem[T any](t *testing.T, key, item string) {
	t.Helper()
	got := check.Value(jsonrpc.Marshal(check.Value(readItems[T](key, item))(t)[0]))(t)
	var want, read any
	check.Must(t, errors.Join(json.Unmarshal([]byte(item), &want), json.Unmarshal(got, &read)))
	check.Same(t, key, read, want)
}

func readItems[T any](key, items string) ([]*T, error) {
	p := Page[T]{Key: key}
	err := jsonrpc.DecodeResult([]byte(`{"`+key+`":[`+items+`]}`), &p)
	return p.Items, err
}

func wantItems[T any](t *testing.T, key, items string, want ...*T) {
	t.Helper()
	check.Same(t, key, check.Value(readItems[T](key, items))(t), want)
}

// What some servers write in another form than the protocol has does not cost the list: the sizes of an icon in one
// string, as drafts had them, an empty list for an empty object, as PHP writes that, and hints about a tool of any type.
func TestItemsInOtherForms(t *testing.T) {
	const icons = `"icons":[{"src":"a","sizes":"48x48 96x96"},{"src":"b","sizes":"any"},{"src":"c","sizes":null},{"src":"d","sizes":["1x1"]},{"src":"e","sizes":5},{"src":"f","sizes":[5]}]`
	want := []mcp.Icon{{Src: "a", Sizes: []string{"48x48", "96x96"}}, {Src: "b", Sizes: []string{"any"}}, {Src: "c"}, {Src: "d", Sizes: []string{"1x1"}}, {Src: "e"}, {Src: "f"}}
	wantItems(t, "tools", `{"name":"t","inputSchema":{},"annotations":[],`+icons+`}`,
		&mcp.Tool{Name: "t", InputSchema: json.RawMessage("{}"), Annotations: new(mcp.ToolAnnotations), Icons: want})
	wantItems(t, "tools", `{"name":"t","annotations":{"title":5,"readOnlyHint":"yes","destructiveHint":false,"idempotentHint":null,"openWorldHint":{}}},{"name":"u"}`,
		&mcp.Tool{Name: "t", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false)}}, &mcp.Tool{Name: "u"})
	wantItems(t, "resources", `{"uri":"u","name":"r","annotations":[ ],`+icons+`}`, &mcp.Resource{URI: "u", Name: "r", Annotations: new(mcp.Annotations), Icons: want})
	wantItems(t, "prompts", `{"name":"p",`+icons+`}`, &mcp.Prompt{Name: "p", Icons: want})
	for _, wrong := range []string{`"annotations":[1]`, `"annotations":"x"`} {
		check.Fails(t, check.Err(readItems[mcp.Tool]("tools", `{"name":"t","inputSchema":{},`+wrong+`}`)), wrong)
		check.Fails(t, check.Err(readItems[mcp.Resource]("resources", `{"uri":"u",`+wrong+`}`)), wrong)
	}
}

// Sizes and annotations of resources are read in every form with a plain meaning, and cost neither item nor list elsewhere.
func TestHintsInOtherForms(t *testing.T) {
	audience := func(all ...string) *mcp.Annotations { return &mcp.Annotations{Audience: all} }
	priority := func(p float64) *mcp.Annotations { return &mcp.Annotations{Priority: &p} }
	for member, want := range map[string]mcp.Resource{
		`"size":12`: {Size: new(int64(12))}, `"size":12.0`: {Size: new(int64(12))},
		`"size":1e3`: {Size: new(int64(1000))}, `"size":1.5E1`: {Size: new(int64(15))},
		`"size":"12"`: {Size: new(int64(12))}, `"size":"12.0"`: {Size: new(int64(12))},
		`"size":9223372036854775807`: {Size: new(int64(math.MaxInt64))}, `"size":9007199254740993.0`: {},
		`"size":9223372036854775808`: {}, `"size":-1`: {}, `"size":1e400`: {},
		`"size":1e999999999`: {}, `"size":12.5`: {}, `"size":"12 KB"`: {}, `"size":"0x10"`: {}, `"size":""`: {},
		`"size":null`: {}, `"size":true`: {}, `"size":[12]`: {}, `"size":{"bytes":12}`: {},
		`"size":12,"size":"big"`: {}, `"annotations":null`: {}, `"annotations":{}`: {Annotations: audience()},
		`"audience":["user","other"]`: {Annotations: audience("user", "other")},
		`"audience":"user"`:           {Annotations: audience("user")},
		`"audience":""`:               {Annotations: audience()},
		`"audience":null`:             {Annotations: audience()},
		`"audience":5`:                {Annotations: audience()},
		`"audience":["user",5]`:       {Annotations: audience()},
		`"audience":{"user":true}`:    {Annotations: audience()},
		`"priority":0.5`:              {Annotations: priority(0.5)},
		`"priority":"0.5"`:            {Annotations: priority(0.5)}, `"priority":"1"`: {Annotations: priority(1)}, `"priority":"high"`: {Annotations: audience()},
		`"priority":"NaN"`: {Annotations: audience()}, `"priority":1e400`: {Annotations: audience()},
		`"priority":null`: {Annotations: audience()}, `"priority":true`: {Annotations: audience()},
		`"lastModified":5`: {Annotations: audience()}, `"lastModified":null`: {Annotations: audience()},
	} {
		t.Run(member, func(t *testing.T) {
			if want.Annotations != nil && !strings.HasPrefix(member, `"annotations"`) {
				member = `"annotations":{` + member + `}`
			}
			want.URI = "a"
			wantItems(t, "resources", `{"uri":"a",`+member+`},{"uri":"b","name":"n"}`, &want, &mcp.Resource{URI: "b", Name: "n"})
			wantItems(t, "resourceTemplates", `{"uriTemplate":"a",`+member+`}`, &mcp.ResourceTemplate{URITemplate: "a", Annotations: want.Annotations})
		})
	}
	for _, wrong := range []string{`"uri":5`, `"uri":"a","name":5`} {
		check.Fails(t, check.Err(readItems[mcp.Resource]("resources", `{`+wrong+`}`)), wrong)
	}
}

// What a server lists has a bound on its parts, not only on its bytes.
func TestPagesAreBounded(t *testing.T) {
	many := func(part string, n int) string { return "[" + strings.Repeat(part+",", n-1) + part + "]" }
	for name, test := range map[string]struct {
		page       any
		text, want string
	}{
		"items":     {&Page[mcp.Tool]{Key: "tools"}, `{"tools":` + many("{}", jsonrpc.MaxElements+1) + `}`, "more than 10000 elements"},
		"icons":     {&Page[mcp.Tool]{Key: "tools"}, `{"tools":[{"name":"a","icons":` + many("{}", 10*jsonrpc.MaxElements+1) + `}]}`, "more than 100000 elements in all"},
		"arguments": {&Page[mcp.Prompt]{Key: "prompts"}, `{"prompts":[{"name":"a","arguments":` + many("{}", 10*jsonrpc.MaxElements+1) + `}]}`, "more than 100000 elements in all"},
	} {
		check.Text(t, jsonrpc.DecodeResult(json.RawMessage(test.text), test.page), test.want, name)
	}
}
