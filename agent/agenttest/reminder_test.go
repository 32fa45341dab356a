package agenttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
)

// formatted is a model whose host holds text to a schema.
type formatted struct{ *agenttest.Model }

func (formatted) AnswerFormat(string, json.RawMessage, ...llms.CallOption) llms.CallOption {
	return func(*llms.CallOptions) {}
}

type day struct {
	Name string `json:"name"`
}

// A step that calls a tool until it has a result calls it once, also if the agent reminds the
// model of the form of its answer, or of a limit.
func TestResultsBehindReminders(t *testing.T) {
	today := agenttest.Wanted{Tool: "today", Arguments: "{}"}
	for _, test := range []struct {
		name   string
		limits run.Limits
		say    string
		model  func(*agenttest.Model) llms.Model
		calls  int // of the model
		fails  error
	}{
		{"final_answer", run.Limits{}, "Sunday", nil, 4, agent.ErrNoOutput},
		{"a text that does not fit", run.Limits{}, `{"nome":"Sunday"}`, func(m *agenttest.Model) llms.Model { return formatted{m} }, 4, agent.ErrNoOutput},
		{"a limit", run.Limits{Turns: 1}, `{"name":"Sunday"}`, func(m *agenttest.Model) llms.Model { return formatted{m} }, 2, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			model := agenttest.PlayOn(func(ctx context.Context, p agenttest.Prompt) (*llms.ContentResponse, error) {
				if len(p.Results()) == 0 {
					return agenttest.Use(today)(ctx, p)
				}
				return agenttest.Say(test.say)(ctx, p)
			})
			var asked llms.Model = model
			if test.model != nil {
				asked = test.model(model)
			}
			ran := 0
			tool := adapter.Func("today", "", func(context.Context, struct{}) (string, error) { ran++; return "Sunday", nil }, nil)
			a, err := agent.New(asked, &agent.Options{Tools: []adapter.Source{tool}, Limits: test.limits})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = agent.As[day](t.Context(), a, agent.Text("Which day is it?"))
			if !errors.Is(err, test.fails) {
				t.Errorf("got %v, want %v", err, test.fails)
			}
			if ran != 1 {
				t.Errorf("the tool ran %d times, want once", ran)
			}
			prompts := model.Prompts()
			if got := len(prompts); got != test.calls {
				t.Errorf("the model was called %d times, want %d", got, test.calls)
			}
			for _, p := range prompts[1:] {
				if got, want := p.Results(), []string{"Sunday"}; !slices.Equal(got, want) {
					t.Errorf("call %d: got %q, want %q", p.Number, got, want)
				}
			}
		})
	}
}

// What the user says after an answer asks for new calls, and what the tools showed does not.
func TestResultsBehindOthers(t *testing.T) {
	call := llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{llms.ToolCall{ID: "1"}}}
	told := llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: "1", Content: "one"}}}
	said := llms.TextParts(llms.ChatMessageTypeAI, "Done.")
	again := llms.TextParts(llms.ChatMessageTypeHuman, "And tomorrow?")
	picture := llms.MessageContent{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.BinaryContent{MIMEType: "image/png"}}}
	for _, test := range []struct {
		name     string
		messages []llms.MessageContent
		want     []string
	}{
		{"the next question", []llms.MessageContent{call, told, said, again}, nil},
		{"a picture of the user", []llms.MessageContent{call, told, said, picture}, nil},
		{"a picture of a tool", []llms.MessageContent{call, told, call, told, told, picture}, []string{"one", "one"}},
	} {
		if got := (&agenttest.Prompt{Messages: test.messages}).Results(); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
