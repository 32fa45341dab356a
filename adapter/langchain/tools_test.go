package langchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
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
	catalog := Source(calculator{"my calculator"}, calculator{"other"}).Catalog(profile.Plain)
	if got := catalog.Definitions()[0].Function; got.Name != "my_calculator" || got.Description != "Adds up." || fmt.Sprintf("%s", got.Parameters) != textSchema {
		t.Errorf("got %+v", got)
	}
	for _, tt := range []struct{ name, input, want string }{
		{"my_calculator", `{"input":"1+2"}`, "3"},
		{"other", "1+2", "3"},
		{"other", `{"input":"1-2"}`, `Error: cannot read "1-2"`},
	} {
		r := catalog.Call(t.Context(), call(tt.name, tt.input))
		check.That(t, r.Text == tt.want && r.Fatal() == nil, "%s %s: got %q, want %q", tt.name, tt.input, r.Text, tt.want)
	}
	check.NoError(t, check.Err(catalog.LookupStored("langchain", "my calculator", "")), "the tool by its label")
	for want, tool := range map[string]tools.Tool{"langchain: tool 0 is nil": nil, "langchain: function has no name": calculator{}} {
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
