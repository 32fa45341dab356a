package adapter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"
)

// script is a model that says what is written and keeps what it was told.
type script struct {
	replies []*llms.ContentChoice
	told    [][]llms.MessageContent
	options []llms.CallOptions
}

func (s *script) GenerateContent(_ context.Context, messages []llms.MessageContent, opts ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, opt := range opts {
		opt(&o)
	}
	s.told, s.options = append(s.told, messages), append(s.options, o)
	if len(s.told) > len(s.replies) {
		return nil, errors.New("the script is over")
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{s.replies[len(s.told)-1]}}, nil
}

func (s *script) Call(ctx context.Context, prompt string, opts ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, s, prompt, opts...)
}

func TestReActAgent(t *testing.T) {
	p := newPeer().tool("forecast", weather, echo).tool("files.read", queried, echo)
	ts := open(t, nil, Server{Name: "p", Transport: p.transport(t)})
	model := &script{replies: []*llms.ContentChoice{
		{Content: "Thought: I look.\nAction: forecast\nAction Input: ```json\n{\"city\": \"Rome\", \"days\": \"3\"}\n```\nObservation: sunny\nThought: done"},
		{Content: "Thought: Once more.\nAction: Forecast\nAction Input: {\"town\": \"Rome\"}"},
		{Content: "Thought: And a file.\nAction: files_read\nAction Input: notes.txt"},
		{Content: "Thought: I know.\nFinal Answer: sunny"},
	}}
	agent := agents.NewOneShotAgent(model, ts.Tools())
	got, err := chains.Run(t.Context(), agents.NewExecutor(agent), "How is Rome?")
	if err != nil || got != "sunny" {
		t.Fatalf("got %q, %v, want the final answer", got, err)
	}
	for _, want := range []string{
		`Observation: {"city":"Rome","days":3}`,
		`Observation: Error: arguments of forecast: missing required property "city"`,
		`Observation: {"query":"notes.txt"}`,
	} {
		if last := fmt.Sprint(model.told[len(model.told)-1]); !strings.Contains(last, want) {
			t.Errorf("got the prompt %s\nwant it with %s", last, want)
		}
	}
	if first := fmt.Sprint(model.told[0]); !strings.Contains(first, "forecast: Does forecast.\nThe input is a JSON object") {
		t.Errorf("got the prompt %s\nwant the input described", first)
	}
}

func TestOpenAIFunctionsAgent(t *testing.T) {
	p := newPeer().tool("forecast", weather, echo)
	ts := open(t, nil, Server{Name: "p", Transport: p.transport(t)})
	calls := func(id, name, arguments string) *llms.ContentChoice {
		c := call(id, name, arguments)
		return &llms.ContentChoice{FuncCall: c.FunctionCall, ToolCalls: []llms.ToolCall{c}}
	}
	model := &script{replies: []*llms.ContentChoice{
		calls("1", "forecast", `{"__arg1":"{\"city\":\"Rome\",\"tags\":\"a\"}"}`),
		calls("2", "forecast", `{"__arg1":"Paris"}`),
		calls("3", "forecast", `{"city":"Oslo"}`),
		{Content: "rainy"},
	}}
	agent := agents.NewOpenAIFunctionsAgent(model, ts.Tools())
	got, err := chains.Run(t.Context(), agents.NewExecutor(agent), "How is it?")
	if err != nil || got != "rainy" {
		t.Fatalf("got %q, %v, want the final answer", got, err)
	}
	last := fmt.Sprint(model.told[len(model.told)-1])
	for _, want := range []string{`{"city":"Rome","tags":["a"]}`, `{"city":"Paris"}`, `{"city":"Oslo"}`} {
		if !strings.Contains(last, want) {
			t.Errorf("got the messages %s\nwant them with %s", last, want)
		}
	}
}

func TestDescription(t *testing.T) {
	short := toolWith(t, `{ "type": "object", "properties": {"n": {"type": "integer"}} }`)
	if got, want := short.Description(), "Does it.\nThe input is a JSON object that fits this JSON Schema: "+
		`{"type":"object","properties":{"n":{"type":"integer"}}}`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := toolWith(t, `{"type":"object","required":["b"],"properties":{
		"a":{"type":["string","null"],"description":"the\n first"},"b":{"type":"integer"},"c":{"description":"`+strings.Repeat("x", 2000)+`"}}}`)
	got := long.Description()
	if want := "Does it.\nThe input is a JSON object with these properties:\n- b (integer, required)\n- a (string or null): the first\n- c: xxx"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
	long.def.Description = strings.Repeat("é", 5000)
	if got := long.Description(); len(got) > 1024 || !strings.Contains(got, "- b (integer, required)") {
		t.Errorf("got %d bytes %q, want at most 1024 with the properties", len(got), got)
	}
	long.def.Description, long.def.Title = "", "A title"
	if got := long.Description(); !strings.HasPrefix(got, "A title\n") {
		t.Errorf("got %q, want the title where there is no description", got)
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

// langchaingo's tools are offered with one text, and ours as themselves.
func TestLangchain(t *testing.T) {
	ts := open(t, nil, Server{Name: "p", Transport: newPeer().tool("forecast", weather, echo).transport(t)})
	ours, _ := ts.Catalog(ProfilePlain).Lookup("forecast")
	source := Langchain(calculator{"my calculator"}, ours, calculator{"other"})
	catalog := source.Catalog(ProfilePlain)
	if got, ok := catalog.Lookup("forecast"); !ok || got != ours {
		t.Errorf("got %v, want our tool itself", got)
	}
	if got := catalog.Definitions()[0].Function; got.Name != "my_calculator" || got.Description != "Adds up." || fmt.Sprintf("%s", got.Parameters) != langchainSchema {
		t.Errorf("got %+v", got)
	}
	for _, tt := range []struct{ name, input, want string }{
		{"my_calculator", `{"input":"1+2"}`, "3"},
		{"other", "1+2", "3"},
		{"other", `{"input":"1-2"}`, `Error: cannot read "1-2"`},
		{"forecast", `{"city":"Rome"}`, `{"city":"Rome"}`},
	} {
		if r := catalog.Call(t.Context(), call("1", tt.name, tt.input)); r.Text != tt.want || r.Fatal() != nil {
			t.Errorf("%s %s: got %q, want %q", tt.name, tt.input, r.Text, tt.want)
		}
	}
	if tool, err := catalog.Find("langchain", "my calculator", ""); err != nil || tool.Server() != "langchain" {
		t.Errorf("got %v, %v, want the tool by its label", tool, err)
	}
	for want, tool := range map[string]tools.Tool{"adapter: tool 0 is nil": nil, "adapter: a function has no name": calculator{}} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("got %v, want %q", got, want)
				}
			}()
			Langchain(tool)
		}()
	}
}
