package langchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/textsplitter"
	"github.com/tmc/langchaingo/tools"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// script is a model that gives scripted answers and records its prompts.
type script struct {
	replies []*llms.ContentChoice
	told    [][]llms.MessageContent
}

func (s *script) GenerateContent(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	s.told = append(s.told, messages)
	if len(s.told) > len(s.replies) {
		return nil, errors.New("the script is over")
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{s.replies[len(s.told)-1]}}, nil
}

func (s *script) Call(ctx context.Context, prompt string, opts ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, s, prompt, opts...)
}

const (
	weather = `{"type":"object","required":["city"],"additionalProperties":false,"properties":{
		"city":{"type":"string"},"days":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}}}`
	queried = `{"type":"object","required":["query"],"properties":{"query":{"type":"string"}}}`
)

// echo is a tool that answers with its arguments.
func echo(t *testing.T, name, inputSchema string) adapter.Source {
	t.Helper()
	def := &mcp.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(inputSchema)}
	f := check.Value(adapter.NewFuncTool(def, func(_ context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(arguments)}}}, nil
	}, nil))(t)
	return f
}

func call(name, arguments string) llms.ToolCall {
	return llms.ToolCall{ID: "1", Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: arguments}}
}

// thermometers are the tools of two servers of the official SDK, which have one name. A third server cannot be reached.
func thermometers(t *testing.T) *adapter.Toolset {
	t.Helper()
	server := func(name, city, degrees string) adapter.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil)
		schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
		s.AddTool(&sdk.Tool{Name: "temperature", InputSchema: schema}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if string(r.Params.Arguments) != `{"city":"`+city+`"}` {
				return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no such city"}}}, nil
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: degrees}}}, nil
		})
		return adapter.Server{Name: name, Transport: peer.Connect(t, s)}
	}
	gone := adapter.Server{Name: "gone", Transport: &mcpclient.Command{Path: "no-such-mcp-server"}}
	ts := check.Value(adapter.Open(t.Context(), []adapter.Server{server("south", "Rome", "30"), gone, server("north", "Oslo", "10")},
		&adapter.Options{Policy: adapter.Policy{Start: adapter.StartAvailable}}))(t)
	t.Cleanup(func() { _ = ts.Close() })
	return ts
}

func TestReActAgent(t *testing.T) {
	source := adapter.Merge(echo(t, "forecast", weather), echo(t, "files.read", queried), thermometers(t))
	model := &script{replies: []*llms.ContentChoice{
		{Content: "Thought: How warm is it?\nAction: south__temperature\nAction Input: Rome"},
		{Content: "Thought: And there?\nAction: south__temperature\nAction Input: {\"city\":\"Oslo\"}"},
		{Content: "Thought: The other one.\nAction: North__Temperature\nAction Input: {\"city\":\"Oslo\"}"},
		{Content: "Thought: I look.\nAction: forecast\nAction Input: ```json\n{\"city\": \"Rome\", \"days\": \"3\"}\n```\nObservation: sunny\nThought: done"},
		{Content: "Thought: Once more.\nAction: Forecast\nAction Input: {\"town\": \"Rome\"}"},
		{Content: "Thought: And a file.\nAction: files_read\nAction Input: notes.txt"},
		{Content: "Thought: I know.\nFinal Answer: sunny"},
	}}
	agent := agents.NewOneShotAgent(model, Tools(source))
	got := check.Value(chains.Run(t.Context(), agents.NewExecutor(agent, agents.WithMaxIterations(8)), "How is Rome?"))(t)
	check.Equal(t, "final answer", got, "sunny")
	last := fmt.Sprint(model.told[len(model.told)-1])
	for _, want := range []string{
		"Observation: 30\n", "Observation: Error: no such city\n", "Observation: 10\n", `Observation: {"city":"Rome","days":3}`,
		`Observation: Error: arguments of forecast: missing required property "city"`, `Observation: {"query":"notes.txt"}`,
	} {
		check.Contains(t, "the last prompt", last, want)
	}
	check.Contains(t, "the first prompt", fmt.Sprint(model.told[0]), "forecast: Does forecast.\nThe input is a JSON object")
}

func TestOpenAIFunctionsAgent(t *testing.T) {
	calls := func(arguments string) *llms.ContentChoice {
		c := call("forecast", arguments)
		return &llms.ContentChoice{FuncCall: c.FunctionCall, ToolCalls: []llms.ToolCall{c}}
	}
	model := &script{replies: []*llms.ContentChoice{
		calls(`{"__arg1":"{\"city\":\"Rome\",\"tags\":\"a\"}"}`), calls(`{"__arg1":"Paris"}`), calls(`{"city":"Oslo"}`), {Content: "rainy"},
	}}
	agent := agents.NewOpenAIFunctionsAgent(model, Tools(echo(t, "forecast", weather)))
	check.Equal(t, "final answer", check.Value(chains.Run(t.Context(), agents.NewExecutor(agent), "How is it?"))(t), "rainy")
	last := fmt.Sprint(model.told[len(model.told)-1])
	for _, want := range []string{`{"city":"Rome","tags":["a"]}`, `{"city":"Paris"}`, `{"city":"Oslo"}`} {
		check.Contains(t, "the last messages", last, want)
	}
}

// calculator is a tool of langchaingo.
type calculator struct{ name string }

func (c calculator) Name() string        { return c.name }
func (c calculator) Description() string { return "Adds up." }
func (c calculator) Call(_ context.Context, input string) (string, error) {
	if input != "1+2" {
		return "", fmt.Errorf("cannot read %q", input)
	}
	return "3", nil
}

// A model is offered langchaingo's tools with one text parameter.
func TestSource(t *testing.T) {
	const parameters = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`
	catalog := Source(calculator{"my calculator"}, calculator{"other"}).Catalog(profile.Plain)
	got := catalog.Definitions()[0].Function
	check.That(t, got.Name == "my_calculator" && got.Description == "Adds up." && fmt.Sprintf("%s", got.Parameters) == parameters, "got %+v", got)
	for _, tt := range []struct{ name, input, want string }{
		{"my_calculator", `{"input":"1+2"}`, "3"},
		{"other", "1+2", "3"},
		{"other", `{"input":"1-2"}`, `Error: cannot read "1-2"`},
	} {
		r := catalog.Call(t.Context(), call(tt.name, tt.input))
		check.That(t, r.Text == tt.want && r.Fatal() == nil, "%s %s: got %q, want %q", tt.name, tt.input, r.Text, tt.want)
	}
	check.NoError(t, check.Err(catalog.LookupStored("langchain", "my calculator", "")), "the tool by its label")
	for want, tool := range map[string]tools.Tool{"langchain: tool 0 is nil": nil, "adapter: function has no name": calculator{}} {
		func() {
			defer func() { check.Equal(t, "panic", recover(), any(want)) }()
			Source(tool)
		}()
	}
}

func TestDescription(t *testing.T) {
	describe := func(def *mcp.Tool, schema string) string {
		def.Name, def.InputSchema = "x", json.RawMessage(schema)
		f := check.Value(adapter.NewFuncTool(def, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return nil, nil }, nil))(t)
		return Tools(f)[0].Description()
	}
	check.Equal(t, "", describe(&mcp.Tool{Description: "Does it."}, `{ "type": "object", "properties": {"n": {"type": "integer"}} }`),
		"Does it.\nThe input is a JSON object that fits this JSON Schema: "+`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	long := `{"type":"object","required":["b"],"properties":{
		"a":{"type":["string","null"],"description":"the\n first"},"b":{"type":"integer"},"c":{"description":"` + strings.Repeat("x", 2000) + `"}}}`
	got := describe(&mcp.Tool{Description: "Does it."}, long)
	const want = "Does it.\nThe input is a JSON object with these properties:\n- b (integer, required)\n- a (string or null): the first\n- c: xxx"
	check.That(t, strings.HasPrefix(got, want), "got %q, want it to begin with %q", got, want)
	got = describe(&mcp.Tool{Description: strings.Repeat("é", 5000)}, long)
	check.That(t, len(got) <= 1024 && strings.Contains(got, "- b (integer, required)"), "got %d bytes %q, want at most 1024 with the properties", len(got), got)
	got = describe(&mcp.Tool{Title: "A title"}, long)
	check.That(t, strings.HasPrefix(got, "A title\n"), "got %q, want the title without a description", got)
}

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
