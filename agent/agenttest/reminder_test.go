package agenttest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
)

// formatted describes a model whose host holds text to a schema.
var formatted = model.Info{Whole: true, Formats: func(bool) bool { return true }}

type day struct {
	Name string `json:"name"`
}

// A step that calls a tool until it has a result calls it once, also if the agent reminds the
// model of the form of its answer, or of a limit.
func TestResultsBehindReminders(t *testing.T) {
	today := agenttest.ToolCall{Tool: "today", Arguments: "{}"}
	for _, test := range []struct {
		name   string
		limits run.Limits
		say    string
		info   model.Info
		calls  int // of the model
		fails  error
	}{
		{"final_answer", run.Limits{}, "Sunday", model.Info{Whole: true}, 4, agent.ErrNoOutput},
		{"a text that does not fit", run.Limits{}, `{"nome":"Sunday"}`, formatted, 4, agent.ErrNoOutput},
		{"a limit", run.Limits{Turns: 1}, `{"name":"Sunday"}`, formatted, 2, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			model := agenttest.PlayRepeating(func(ctx context.Context, p agenttest.Prompt) (*model.Response, error) {
				if len(p.Results()) == 0 {
					return agenttest.Use(today)(ctx, p)
				}
				return agenttest.Say(test.say)(ctx, p)
			}).WithInfo(test.info)
			ran := 0
			tool := adapter.Func("today", "", func(context.Context, struct{}) (string, error) { ran++; return "Sunday", nil }, nil)
			a, err := agent.New(model, &agent.Options{Tools: []adapter.Source{tool}, Limits: test.limits})
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

// What the user says after an answer asks for new calls.
func TestResultsBehindOthers(t *testing.T) {
	call := run.Message{Role: run.RoleAssistant, Parts: []run.Part{{Type: run.PartCall, ID: "1"}}}
	told := run.Message{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "1", Text: "one"}}}
	said := run.Text(run.RoleAssistant, "Done.")
	again := run.Text(run.RoleUser, "And tomorrow?")
	picture := run.Message{Role: run.RoleUser, Parts: []run.Part{{Type: run.PartImage, MIMEType: "image/png"}}}
	for _, test := range []struct {
		name     string
		messages []run.Message
		want     []string
	}{
		{"the next question", []run.Message{call, told, said, again}, nil},
		{"a picture of the user", []run.Message{call, told, said, picture}, nil},
		{"two results", []run.Message{call, told, call, told, told}, []string{"one", "one"}},
	} {
		if got := (&agenttest.Prompt{Request: model.Request{Messages: test.messages}}).Results(); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
