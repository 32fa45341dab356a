package offering

import (
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
