package agent_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
)

// script is a model that plays one step for every call, the last one again and
// again, and keeps what it was given.
type script struct{ *agenttest.Model }

type (
	step   = agenttest.Step
	prompt = agenttest.Prompt
)

func play(steps ...step) *script { return &script{agenttest.PlayRepeating(steps...)} }

func (s *script) prompts() []prompt { return s.Prompts() }

// as is the script with another description.
func (s *script) as(info model.Info) *script {
	s.WithInfo(info)
	return s
}

// called is the script as a model of that name.
func (s *script) called(name string) *script { return s.as(model.Info{Name: name, Whole: true}) }

// streaming is the script as a model that streams.
func (s *script) streaming() *script { return s.as(model.Info{}) }

// replied is a reply of parts.
func replied(parts ...run.Part) *model.Response {
	return &model.Response{Message: run.Message{Role: run.RoleAssistant, Parts: parts}}
}

// using has a step report tokens, of the model m-1.
func using(s step, input, output int64) step {
	return func(ctx context.Context, p prompt) (*model.Response, error) {
		reply, err := s(ctx, p)
		if err == nil {
			reply.Usage, reply.Message.Model = run.Spent{Input: input, Output: output}, "m-1"
		}
		return reply, err
	}
}

// results are the texts of all results.
func results(messages []run.Message) (all []string) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == run.PartResult {
				all = append(all, p.Text)
			}
		}
	}
	return all
}

func textPart(text string) run.Part { return run.Part{Type: run.PartText, Text: text} }

// says answers with text.
func says(text string) step {
	return func(context.Context, prompt) (*model.Response, error) {
		return &model.Response{Message: run.Text(run.RoleAssistant, text), Finish: model.FinishStop}, nil
	}
}

// uses asks for tools.
func uses(calls ...run.Part) step {
	return func(context.Context, prompt) (*model.Response, error) {
		reply := replied(slices.Clone(calls)...)
		reply.Finish = model.FinishCalls
		return reply, nil
	}
}

// hangs waits for the end of the context.
func hangs(started chan<- struct{}) step {
	return func(ctx context.Context, _ prompt) (*model.Response, error) {
		close(started)
		<-ctx.Done()
		return nil, fmt.Errorf("request: %w", ctx.Err())
	}
}

func toolCall(id, name, arguments string) run.Part {
	return run.Part{Type: run.PartCall, ID: id, Name: name, Arguments: arguments}
}

func human(text string) agent.Input { return agent.Text(text) }

func newAgent(t testing.TB, model agent.Model, opts *agent.Options) *agent.Agent {
	t.Helper()
	a, err := agent.New(model, opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func mustRun(t testing.TB, a *agent.Agent, in agent.Input, opts ...agent.RunOption) *agent.Result {
	t.Helper()
	result, err := a.Run(t.Context(), in, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// history is the history of a result.
func history(r *agent.Result) []run.Message { return r.Messages }

// asked are the instructions and the messages of a request, see lines.
func asked(p prompt) []string {
	out := lines(p.Request.Messages)
	if p.Request.System != "" {
		out = append([]string{fmt.Sprintf("system: %q", p.Request.System)}, out...)
	}
	return out
}

// lines are the messages in a form that is easy to compare: the role and the
// parts of each. Each result is a line.
func lines(messages []run.Message) []string {
	var out []string
	for _, m := range messages {
		line := map[run.Role]string{run.RoleUser: "human", run.RoleAssistant: "ai"}[m.Role] + ":"
		if m.Role == run.RoleSystem || m.Role == run.RoleTool {
			line = string(m.Role) + ":"
		}
		for _, p := range m.Parts {
			switch p.Type {
			case run.PartText, run.PartSummary:
				line += fmt.Sprintf(" %q", p.Text)
			case run.PartCall:
				line += fmt.Sprintf(" %s=%s(%s)", p.ID, p.Name, p.Arguments)
			case run.PartResult:
				out = append(out, fmt.Sprintf("%s %s/%s→%q", line, p.ID, p.Name, p.Text))
			case run.PartReasoning:
			default:
				line += fmt.Sprintf(" %s[%d]", p.MIMEType, len(p.Data))
			}
		}
		if m.Role != run.RoleTool {
			out = append(out, line)
		}
	}
	return out
}

func diff(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
