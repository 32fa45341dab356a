package langchain

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/textsplitter"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Loader has the methods of documentloaders.Loader. That package is not imported, because it
// links the libraries of all its loaders, such as speech and PDF.
var _ interface {
	Load(ctx context.Context) ([]schema.Document, error)
	LoadAndSplit(ctx context.Context, splitter textsplitter.TextSplitter) ([]schema.Document, error)
} = (*Loader)(nil)

// connect connects to a server of the official SDK.
func connect(t *testing.T, server *sdk.Server) *mcpclient.Client {
	t.Helper()
	client := check.Value(mcpclient.Connect(t.Context(), peer.Connect(t, server), nil))(t)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// serve returns a client of a server with resources, given by URI.
func serve(t *testing.T, contents ...*sdk.ResourceContents) *mcpclient.Client {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, nil)
	for _, c := range contents {
		server.AddResource(&sdk.Resource{Name: c.URI, URI: c.URI}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
		})
	}
	return connect(t, server)
}

// wordsSplitter splits a text into pieces of that many words.
type wordsSplitter int

func (n wordsSplitter) SplitText(text string) ([]string, error) {
	if n == 0 {
		return nil, errors.New("no words")
	}
	var out []string
	for piece := range slices.Chunk(strings.Fields(text), int(n)) {
		out = append(out, strings.Join(piece, " "))
	}
	return out, nil
}

func three(t *testing.T) *mcpclient.Client {
	return serve(t,
		&sdk.ResourceContents{URI: "a:1", MIMEType: "text/plain", Text: strings.Repeat("word ", 30)},
		&sdk.ResourceContents{URI: "a:2", MIMEType: "application/json; charset=utf-8", Blob: []byte(`{"a":1}`)},
		&sdk.ResourceContents{URI: "a:3", MIMEType: "image/png", Blob: []byte{0x89, 'P'}},
	)
}

func TestLoad(t *testing.T) {
	client := three(t)
	got := check.Value((&Loader{Client: client}).Load(t.Context()))(t)
	want := []schema.Document{
		{PageContent: strings.Repeat("word ", 30), Metadata: map[string]any{"source": "a:1", "uri": "a:1", "mime_type": "text/plain"}},
		{PageContent: `{"a":1}`, Metadata: map[string]any{"source": "a:2", "uri": "a:2", "mime_type": "application/json; charset=utf-8"}},
		{Metadata: map[string]any{"source": "a:3", "uri": "a:3", "mime_type": "image/png", "data": []byte{0x89, 'P'}}},
	}
	check.Same(t, "documents", got, want)
	got = check.Value((&Loader{Client: client, URIs: []string{"a:2"}}).Load(t.Context()))(t)
	check.Same(t, "the resource that was named", got, want[1:2])
}

func TestLoadAndSplit(t *testing.T) {
	got, err := (&Loader{Client: three(t)}).LoadAndSplit(t.Context(), wordsSplitter(10))
	check.Must(t, err)
	check.That(t, len(got) == 4 && got[0].Metadata["source"] == "a:1" && got[3].PageContent == `{"a":1}`,
		"got %v, want three pieces of the first and one of the second", got)
	theirs := textsplitter.NewRecursiveCharacter(textsplitter.WithChunkSize(60), textsplitter.WithChunkOverlap(0))
	got, err = (&Loader{Client: three(t)}).LoadAndSplit(t.Context(), theirs)
	check.That(t, err == nil && len(got) == 4, "got %v, %v, want three pieces and one from langchaingo's splitter", got, err)
	check.Text(t, check.Err((&Loader{Client: three(t)}).LoadAndSplit(t.Context(), wordsSplitter(0))), `split resource "a:1": no words`)
}

func TestLoadIsBounded(t *testing.T) {
	client := three(t)
	for want, l := range map[string]*Loader{
		"more than 2 documents":      {Client: client, maxDocuments: 2},
		"more than 1 documents":      {Client: client, maxDocuments: 1, URIs: []string{"a:1", "a:2"}},
		"more than 155 bytes in all": {Client: client, maxBytes: 155},
		"not found":                  {Client: client, URIs: []string{"a:4"}},
		"set Loader.Client":          {},
	} {
		check.Text(t, check.Err(l.Load(t.Context())), want)
		check.Text(t, check.Err(l.LoadAndSplit(t.Context(), nil)), "", want)
	}
}

func TestTextThatIsNone(t *testing.T) {
	got := documents(&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "u", MIMEType: "text/plain", Blob: []byte{0xff}}, {URI: "v", Blob: []byte{}}}})
	check.That(t, got[0].PageContent == "" && got[0].Metadata["data"] != nil && got[1].Metadata["data"] != nil,
		"got %v, want bytes that are not text kept as they are", got)
}

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
