package offering

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestContent(t *testing.T) {
	got := Content([]mcp.Content{
		&mcp.TextContent{Text: "a"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("x")}, &mcp.AudioContent{MIMEType: "audio/wav"},
		&mcp.ResourceLink{Resource: mcp.Resource{URI: "x://y"}}, &mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "x://z", Text: "b"}},
		&mcp.ToolUseContent{Name: "add", Input: []byte("{}")}, &mcp.ToolResultContent{Content: []mcp.Content{&mcp.TextContent{Text: "c"}}},
		&mcp.UnknownContent{Type: "new"}, &mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "x://w", Blob: []byte("xy")}},
	})
	check.Same(t, "", got, "a\n[image image/png, 1 bytes]\n[audio audio/wav, 0 bytes]\n[link to x://y]\n[resource x://z] b\n"+
		"[calls add {}]\n[tool result] c\n[new]\n[resource x://w, 2 bytes]")
}

func TestUnknownMethod(t *testing.T) {
	for name, tt := range map[string]struct {
		last error
		want []string
	}{
		"no such method": {fmt.Errorf("list: %w", &mcp.RPCError{Code: mcp.CodeMethodNotFound}), []string{"true <nil>"}},
		"other error":    {errors.New("gone"), []string{"true <nil>", "false gone"}},
	} {
		all := func(yield func(*mcp.ResourceTemplate, error) bool) {
			_ = yield(&mcp.ResourceTemplate{Name: "a"}, nil) && yield(nil, tt.last)
		}
		var got []string
		for template, err := range Templates(all) {
			got = append(got, fmt.Sprint(template != nil, err))
		}
		check.Same(t, name, got, tt.want)
		for range Templates(all) { // ends with the range
			break
		}
	}
}

func TestParameters(t *testing.T) {
	const schema = `{"type":"object","required":["z"],"properties":{
		"z":{"type":"string","description":"last\u001b[2J"},"a":{"type":["integer","null"]},"b":{"enum":["x",1000000,null],"default":1},"c":{},
		"of":{"type":"array","items":{"type":"object","properties":{"d":{"type":"boolean"}}}}}}`
	const want = "z (string, required) last\\x1b[2J\na (integer or null)\nb (one of x | 1000000 | null, default 1)\nc\nof (list of object)\n  d (boolean)"
	check.Equal(t, "", strings.Join(Parameters(json.RawMessage(schema)), "\n"), want)
	deep := strings.Repeat(`{"type":"array","items":`, 60) + `{"type":"string"}` + strings.Repeat("}", 60)
	check.Equal(t, "deep", strings.Join(Parameters(json.RawMessage(`{"properties":{"a":`+deep+`}}`)), "\n"), "a (list of list of list of list of array)")
	nested := `{"properties":{"a":{"properties":{"b":{"properties":{"c":{"properties":{"d":{"type":"string","default":"` + strings.Repeat("x", 1000) + `"}}}}}}}}}`
	got := Parameters(json.RawMessage(nested))
	check.That(t, len(got) == 4 && len(got[3]) < 200, "got %q, want four lines, none of them long", got)
	many := map[string]any{}
	for n := range 1000 {
		many[fmt.Sprint("x", n)] = map[string]any{}
	}
	got = Parameters(check.Value(json.Marshal(map[string]any{"properties": many}))(t))
	check.That(t, len(got) == maxLines+1 && got[maxLines] == "… (940 more lines)", "got %d lines, want %d", len(got), maxLines+1)
}
