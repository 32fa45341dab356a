package langchain

import (
	"context"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// TestPromptMessages gets a prompt with every kind of content.
func TestPromptMessages(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, nil)
	server.AddPrompt(&sdk.Prompt{Name: "review", Arguments: []*sdk.PromptArgument{{Name: "code", Required: true}, {Name: "lines"}, {Name: "tone"}}},
		func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			args := req.Params.Arguments
			_, toned := args["tone"]
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
				{Role: "user", Content: &sdk.TextContent{Text: "Review " + args["code"] + args["lines"]}},
				{Role: "assistant", Content: &sdk.TextContent{Text: map[bool]string{true: "toned", false: "Gladly."}[toned]}},
				{Role: "user", Content: &sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}},
				{Role: "user", Content: &sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")}},
				{Role: "user", Content: &sdk.ResourceLink{URI: "file:///b", Name: "b"}},
				{Role: "user", Content: &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///c", MIMEType: "image/png", Blob: []byte("png")}}},
				{Role: "user", Content: &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///d", Blob: []byte("bits")}}},
				{Role: "user", Content: &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: "body"}}},
			}}, nil
		})
	client := connect(t, server)
	var prompt *mcp.Prompt
	for p, err := range client.Prompts(t.Context()) {
		check.Must(t, err)
		prompt = p
	}
	got := check.Value(PromptMessages(t.Context(), client, prompt, map[string]any{"code": "main.go", "lines": []int{1, 2}, "other": 1}))(t)
	want := []llms.MessageContent{
		llms.TextParts(llms.ChatMessageTypeHuman, "Review main.go[1,2]"),
		llms.TextParts(llms.ChatMessageTypeAI, "Gladly."),
		{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.BinaryPart("image/png", []byte("png"))}},
		{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.BinaryPart("audio/wav", []byte("wav"))}},
		llms.TextParts(llms.ChatMessageTypeHuman, `{"type":"resource_link","uri":"file:///b","name":"b"}`),
		{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.TextPart("[resource file:///c (image/png)]"), llms.BinaryPart("image/png", []byte("png"))}},
		llms.TextParts(llms.ChatMessageTypeHuman, "[resource file:///d (of no type)]: 4 bytes of binary data"),
		llms.TextParts(llms.ChatMessageTypeHuman, "[resource file:///a (text/plain)]\nbody"),
	}
	check.Same(t, "messages", got, want)
	check.Text(t, check.Err(PromptMessages(t.Context(), client, prompt, nil)), `prompt "review": missing the value of "code"`)
	check.Fails(t, check.Err(PromptMessages(t.Context(), client, prompt, map[string]any{"code": func() {}})), "a value that cannot be written")
}
