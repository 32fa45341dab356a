package adapter

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestRender(t *testing.T) {
	text := func(s string) mcp.Content { return &mcp.TextContent{Text: s} }
	bytes := int64(2048)
	png := []byte("\x89PNG\r\n\x1a\n")
	for _, tt := range []struct {
		name  string
		res   mcp.CallToolResult
		want  string
		media []llms.ContentPart
	}{
		{"text", mcp.CallToolResult{Content: []mcp.Content{text("a"), text("b")}}, "a\nb", nil},
		{"empty", mcp.CallToolResult{}, "(the tool returned no content)", nil},
		{"blank", mcp.CallToolResult{Content: []mcp.Content{text(" \n")}}, "(the tool returned no content)", nil},
		{"failure", mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("no such file")}}, "Error: no such file", nil},
		{"failure that says so", mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("error: disk full")}}, "error: disk full", nil},
		{"failure beside structured content", mcp.CallToolResult{
			IsError: true, StructuredContent: json.RawMessage(`{"code":7}`), Content: []mcp.Content{text("quota used up")},
		}, "Error: quota used up", nil},
		{"failure with structured content only", mcp.CallToolResult{IsError: true, StructuredContent: json.RawMessage(`{"code":7}`)}, `Error: {"code":7}`, nil},
		{"failure without a reason", mcp.CallToolResult{IsError: true}, "Error: (the tool failed without giving a reason)", nil},
		{"structured only", mcp.CallToolResult{StructuredContent: json.RawMessage(`{"n":1.50}`)}, `{"n":1.50}`, nil},
		{"structured null", mcp.CallToolResult{StructuredContent: json.RawMessage(`null`)}, `null`, nil},
		{"structured beside text", mcp.CallToolResult{StructuredContent: json.RawMessage(`{}`), Content: []mcp.Content{text("x")}}, "x", nil},
		{"structured beside an image", mcp.CallToolResult{
			StructuredContent: json.RawMessage(`{"w":1}`),
			Content:           []mcp.Content{&mcp.ImageContent{Data: png, MIMEType: "image/png"}},
		}, "[image: image/png, 8 bytes]\n{\"w\":1}", []llms.ContentPart{llms.BinaryContent{MIMEType: "image/png", Data: png}}},
		{
			"image without a type", mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: png}}},
			"[image: image/png, 8 bytes]", []llms.ContentPart{llms.BinaryContent{MIMEType: "image/png", Data: png}},
		},
		{"empty image", mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png"}}}, "[image: empty]", nil},
		{
			"audio", mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{Data: make([]byte, 1536), MIMEType: "audio/wav"}}},
			"[audio: audio/wav, 1.5 KiB]", []llms.ContentPart{llms.BinaryContent{MIMEType: "audio/wav", Data: make([]byte, 1536)}},
		},
		{"link", mcp.CallToolResult{Content: []mcp.Content{&mcp.ResourceLink{Resource: mcp.Resource{
			URI: "file:///a", Name: "a", Title: "The A", MIMEType: "text/plain", Size: &bytes, Description: "what it is",
		}}}}, "[resource link: file:///a, The A, text/plain, 2.0 KiB: what it is]", nil},
		{"embedded text", mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{
			Resource: mcp.ResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: "body"},
		}}}, "[resource file:///a (text/plain)]\nbody", nil},
		{"embedded blob", mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{
			Resource: mcp.ResourceContents{URI: "file:///a", Blob: []byte{1, 2}},
		}}}, "[resource file:///a: 2 bytes of binary data]", nil},
		{"embedded image", mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{
			Resource: mcp.ResourceContents{URI: "file:///a", MIMEType: "image/gif", Blob: []byte{1, 2}},
		}}}, "[resource file:///a (image/gif): 2 bytes of binary data]", []llms.ContentPart{llms.BinaryContent{MIMEType: "image/gif", Data: []byte{1, 2}}}},
		{"unknown", mcp.CallToolResult{Content: []mcp.Content{&mcp.UnknownContent{
			Type: "video", Raw: json.RawMessage(`{"type":"video","x":1}`),
		}}}, `[content of type "video": {"type":"video","x":1}]`, nil},
		{"tool use", mcp.CallToolResult{Content: []mcp.Content{&mcp.ToolUseContent{ID: "1", Name: "n"}}},
			`[content of type "tool_use": {"type":"tool_use","id":"1","name":"n","input":{}}]`, nil},
		{"no block", mcp.CallToolResult{Content: []mcp.Content{nil}}, "(the tool returned no content)", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, media := render(&tt.res, 1<<20)
			check.Equal(t, "", got, tt.want)
			check.Same(t, "media", media, tt.media)
		})
	}
}

func TestShorten(t *testing.T) {
	check.Equal(t, "short", shorten("short", minResult), "short")
	for _, unit := range []string{"x", "é", "日", "🙂"} {
		text := strings.Repeat(unit, 4000)
		for limit := minResult; limit < minResult+20; limit++ {
			got := shorten(text, limit)
			if len(got) > limit || len(got) < limit-2*len(unit)-4 {
				t.Fatalf("%s: got %d bytes, want nearly %d", unit, len(got), limit)
			}
			if !utf8.ValidString(got) || !strings.HasPrefix(got, unit) || !strings.HasSuffix(got, unit) {
				t.Fatalf("got %q, want whole runes of both ends", got)
			}
		}
	}
	got := shorten(strings.Repeat("a", 300)+strings.Repeat("z", 300), 256)
	check.Contains(t, "", got, "\n[… 386 of 600 bytes were cut here …]\n")
}

func TestMediaIsBounded(t *testing.T) {
	image := func(n int) mcp.Content { return &mcp.ImageContent{Data: make([]byte, n), MIMEType: "image/png"} }
	text, media := render(&mcp.CallToolResult{Content: []mcp.Content{image(60), image(50), image(40),
		&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "u", MIMEType: "image/png", Blob: []byte("x")}},
	}}, 100)
	want := "[image: image/png, 60 bytes]\n[image: image/png, 50 bytes, left out because it is too large]\n[image: image/png, 40 bytes]\n" +
		"[resource u (image/png): 1 bytes of binary data, left out because it is too large]"
	check.That(t, text == want && len(media) == 2, "got %d parts and %q, want 2 and %q", len(media), text, want)
}

func FuzzRender(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"x"},{"type":"image","data":"AAAA"},{"type":"?"}],"isError":true}`)
	f.Add(`{"content":[],"structuredContent":[1]}`)
	f.Add(`{"content":[{"type":"resource","resource":{"uri":"u","blob":""}},{"type":"resource_link","uri":"u"}]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		var res mcp.CallToolResult
		if json.Unmarshal([]byte(raw), &res) != nil {
			return
		}
		text, media := render(&res, 1<<20)
		text = shorten(text, minResult)
		check.That(t, strings.TrimSpace(text) != "" && len(text) <= minResult && utf8.ValidString(text),
			"got %q, want text of at most %d bytes", text, minResult)
		for _, part := range media {
			b, ok := part.(llms.BinaryContent)
			check.That(t, ok && b.MIMEType != "" && len(b.Data) != 0, "got %#v, want data with a type", part)
		}
	})
}
