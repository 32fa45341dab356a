package adapter

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/prompts"
)

var (
	_ prompts.FormatPrompter   = (*PromptTemplate)(nil)
	_ prompts.MessageFormatter = (*PromptTemplate)(nil)
	_ prompts.Formatter        = (*PromptTemplate)(nil)
)

// prompting is a server with one prompt of every kind of content.
func prompting() *peer {
	p := newPeer()
	p.AddPrompt(&sdk.Prompt{Name: "review", Arguments: []*sdk.PromptArgument{{Name: "code", Required: true}, {Name: "lines"}, {Name: "tone"}}},
		func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			args := req.Params.Arguments
			_, toned := args["tone"]
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
				{Role: "user", Content: &sdk.TextContent{Text: "Review " + args["code"] + args["lines"]}},
				{Role: "assistant", Content: &sdk.TextContent{Text: map[bool]string{true: "toned", false: "Gladly."}[toned]}},
				{Role: "user", Content: &sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}},
				{Role: "user", Content: &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: "body"}}},
			}}, nil
		})
	return p
}

func TestPromptMessages(t *testing.T) {
	p := prompting()
	ts := open(t, nil, Server{Name: "p", Transport: p.transport(t)}, Server{Name: "q", Transport: newPeer().tool("x", object, echo).transport(t)})
	prompt, err := ts.Prompt(t.Context(), "p", "review")
	if err != nil {
		t.Fatal(err)
	}
	got, err := prompt.Messages(t.Context(), map[string]any{"code": "main.go", "lines": []int{1, 2}, "other": 1})
	if err != nil {
		t.Fatal(err)
	}
	want := []llms.MessageContent{
		llms.TextParts(llms.ChatMessageTypeHuman, "Review main.go[1,2]"),
		llms.TextParts(llms.ChatMessageTypeAI, "Gladly."),
		{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.BinaryPart("image/png", []byte("png"))}},
		llms.TextParts(llms.ChatMessageTypeHuman, "[resource file:///a (text/plain)]\nbody"),
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
	if _, err := prompt.Messages(t.Context(), nil); err == nil || !strings.Contains(err.Error(), `prompt "review": missing the value of "code"`) {
		t.Errorf("got %v, want what is missing", err)
	}
	if _, err := prompt.Messages(t.Context(), map[string]any{"code": func() {}}); err == nil {
		t.Error("got no error for a value that cannot be written")
	}
	if _, err := ts.Prompt(t.Context(), "q", "review"); err == nil {
		t.Error("got a prompt of another server")
	}
}

func TestPromptTemplate(t *testing.T) {
	ts := open(t, nil, Server{Name: "p", Transport: prompting().transport(t)})
	prompt, err := ts.Prompt(t.Context(), "p", "review")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(prompt.GetInputVariables(), []string{"code", "lines", "tone"}); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
	value, err := prompt.FormatPrompt(map[string]any{"code": "main.go"})
	if err != nil {
		t.Fatal(err)
	}
	want := []llms.ChatMessage{
		llms.HumanChatMessage{Content: "Review main.go"}, llms.AIChatMessage{Content: "Gladly."},
		llms.HumanChatMessage{Content: "[image/png, 3 bytes]"}, llms.HumanChatMessage{Content: "[resource file:///a (text/plain)]\nbody"},
	}
	if diff := cmp.Diff(value.Messages(), want); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
	text, err := prompt.Format(map[string]any{"code": "main.go"})
	if err != nil || !strings.HasPrefix(text, "Human: Review main.go\nAI: Gladly.\n") {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := prompt.Format(nil); err == nil {
		t.Error("got no error for a missing value")
	}
}

func TestPromptsOfServersThatFail(t *testing.T) {
	p := prompting()
	ts := open(t, nil, Server{Name: "p", Transport: p.transport(t)}, Server{Name: "q", Transport: prompting().transport(t)})
	p.die()
	<-ts.Servers()[0].Client.Done()
	var found []string
	failed := 0
	for prompt, err := range ts.Prompts(t.Context()) {
		if err != nil {
			failed++
			continue
		}
		found = append(found, prompt.Server+"/"+prompt.Prompt.Name)
	}
	if diff := cmp.Diff(found, []string{"q/review"}); diff != "" || failed != 1 {
		t.Errorf("got %d failures, (-) want (+):\n%s", failed, diff)
	}
}
