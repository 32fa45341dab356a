package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/langchain"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// The scenario: two servers have a tool of the same name, and one of these tools fails for one
// city; a third server cannot be reached. The model calls both tools, with a number in a string,
// gets a failure, corrects its call, and sums up.

// question is the question to the agents.
const question = "How warm is it in Rome and in Oslo?"

// answer is the expected answer.
const answer = "Rome 30, Oslo 10."

// log records the calls of the servers.
type log struct {
	mu    sync.Mutex
	calls []string
}

func (l *log) server(t *testing.T, name string, temperatures map[string]int) adapter.Server {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil)
	s.AddTool(&sdk.Tool{
		Name: "temperature", Description: "Tells the temperature in a city.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city","days"],"additionalProperties":false}`),
	}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		l.mu.Lock()
		l.calls = append(l.calls, name+" "+string(r.Params.Arguments))
		l.mu.Unlock()
		var in struct{ City string }
		if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
			return nil, err
		}
		degrees, ok := temperatures[in.City]
		if !ok {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no such city: " + in.City}}}, nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(degrees)}}}, nil
	})
	return adapter.Server{Name: name, Transport: peer.Connect(t, s)}
}

type unreachable struct{}

func (unreachable) Dial(context.Context) (mcpclient.Conn, error) {
	return nil, errors.New("unreachable")
}

// toolset opens the servers of the scenario.
func (l *log) toolset(t *testing.T) *adapter.Toolset {
	t.Helper()
	ts, err := adapter.Open(t.Context(), []adapter.Server{
		l.server(t, "south", map[string]int{"Rome": 30}),
		{Name: "gone", Transport: unreachable{}},
		l.server(t, "north", map[string]int{"Oslo": 10}),
	}, &adapter.Options{Policy: adapter.Policy{Start: adapter.StartAvailable}})
	check.Must(t, err)
	t.Cleanup(func() { _ = ts.Close() })
	return ts
}

// script is a model with written replies. It checks its prompts.
type script struct {
	t       *testing.T
	replies []reply
	next    int
}

// reply is the model's next reply. The latest message must contain the expected text.
type reply struct {
	expects []string
	says    *llms.ContentChoice
}

func (s *script) GenerateContent(_ context.Context, messages []llms.MessageContent, opts ...llms.CallOption) (*llms.ContentResponse, error) {
	if s.next == len(s.replies) {
		return nil, errors.New("the script is over")
	}
	r := s.replies[s.next]
	s.next++
	var o llms.CallOptions
	for _, set := range opts {
		set(&o)
	}
	definitions, err := json.Marshal([]any{o.Tools, o.Functions})
	if err != nil {
		return nil, err
	}
	told := fmt.Sprint(messages) + string(definitions)
	for _, want := range r.expects {
		if !strings.Contains(told, want) {
			s.t.Errorf("model call %d: got %s\nwant it with %q", s.next, told, want)
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{r.says}}, nil
}

func (s *script) Call(ctx context.Context, prompt string, opts ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, s, prompt, opts...)
}

func says(text string) *llms.ContentChoice { return &llms.ContentChoice{Content: text} }

func calls(pairs ...string) *llms.ContentChoice {
	c := &llms.ContentChoice{StopReason: "tool_calls"}
	for pair := range slices.Chunk(pairs, 2) {
		f := &llms.FunctionCall{Name: pair[0], Arguments: pair[1]}
		c.ToolCalls = append(c.ToolCalls, llms.ToolCall{ID: fmt.Sprintf("%s %d", pair[0], len(c.ToolCalls)), Type: "function", FunctionCall: f})
		c.FuncCall = f
	}
	return c
}

// asked are the expected calls of every agent.
var asked = []string{
	`south {"city":"Rome","days":1}`,
	`south {"city":"Oslo","days":1}`,
	`north {"city":"Oslo","days":1}`,
}

func (l *log) check(t *testing.T, got string, err error) {
	t.Helper()
	if err != nil || !strings.Contains(got, answer) {
		t.Errorf("got %q, %v, want %q", got, err, answer)
	}
	check.Same(t, "calls", l.calls, asked)
}

func TestReActAgent(t *testing.T) {
	var l log
	ts := l.toolset(t)
	model := &script{t: t, replies: []reply{
		{[]string{"south__temperature: Tells the temperature", "north__temperature"}, says("Thought: Rome first.\nAction: south__temperature\nAction Input: ```json\n{\"city\":\"Rome\",\"days\":\"1\"}\n```\nObservation: 25\nThought: done")},
		{[]string{"Observation: 30"}, says("Thought: Oslo.\nAction: South__Temperature\nAction Input: {\"city\":\"Oslo\",\"days\":1}")},
		{[]string{"Observation: Error: no such city: Oslo"}, says("Thought: The other one.\nAction: north__temperature\nAction Input: Oslo")},
		// A bare value needs a tool with one parameter: this tool has two.
		{[]string{"want a JSON object with the properties"}, says("Thought: Once more.\nAction: north__temperature\nAction Input: {\"city\":\"Oslo\",\"days\":1}")},
		{[]string{"Observation: 10"}, says("Thought: I know.\nFinal Answer: " + answer)},
	}}
	got, err := chains.Run(t.Context(), agents.NewExecutor(agents.NewOneShotAgent(model, langchain.Tools(ts), agents.WithMaxIterations(6))), question)
	l.check(t, got, err)
}

func TestOpenAIFunctionsAgent(t *testing.T) {
	var l log
	ts := l.toolset(t)
	model := &script{t: t, replies: []reply{
		{[]string{`"south__temperature"`, `"north__temperature"`}, calls("south__temperature", `{"__arg1":"{\"city\":\"Rome\",\"days\":1}"}`)},
		{[]string{"30"}, calls("south__temperature", `{"city":"Oslo","days":"1"}`)},
		{[]string{"Error: no such city: Oslo"}, calls("north__temperature", `{"__arg1":{"city":"Oslo","days":1}}`)},
		{[]string{"10"}, says(answer)},
	}}
	got, err := chains.Run(t.Context(), agents.NewExecutor(agents.NewOpenAIFunctionsAgent(model, langchain.Tools(ts))), question)
	l.check(t, got, err)
}

func TestOurAgent(t *testing.T) {
	var l log
	ts := l.toolset(t)
	model := &script{t: t, replies: []reply{
		{[]string{`"south__temperature"`, `"required":["city","days"]`}, calls("south__temperature", `{"city":"Rome","days":"1"}`)},
		{[]string{"30"}, calls("SOUTH__temperature", `{"city":"Oslo","days":1}`)},
		{[]string{"Error: no such city: Oslo"}, calls("north__temperature", `{"city":"Oslo","days":1}`)},
		{[]string{"10"}, says(answer)},
	}}
	a, err := agent.New(lc.Model(model, nil), &agent.Options{Tools: []adapter.Source{ts}})
	check.Must(t, err)
	res, err := a.Run(t.Context(), agent.Text(question))
	check.Must(t, err)
	l.check(t, fmt.Sprint(res.Messages), nil)
}
