package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// script is a model that plays one step for every call, the last one again and
// again, and keeps what it was given.
type script struct{ *agenttest.Model }

type (
	step   = agenttest.Step
	prompt = agenttest.Turn
)

func play(steps ...step) *script { return &script{agenttest.PlayRepeating(steps...)} }

func (s *script) prompts() []prompt { return s.Turns() }

// as is the script with another description, at its first step.
func (s *script) as(info model.Info) *script { return &script{s.WithInfo(info)} }

// called is the script as a model of that name.
func (s *script) called(name string) *script { return s.as(model.Info{Name: name, NoStreaming: true}) }

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
			reply.Usage, reply.Message.Model = run.Usage{Input: input, Output: output}, "m-1"
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

// onInput takes one step for the input, and another for what follows.
func onInput(input, then step) step {
	return func(ctx context.Context, p prompt) (*model.Response, error) {
		if all := p.Request.Messages; all[len(all)-1].Role == run.RoleUser {
			return input(ctx, p)
		}
		return then(ctx, p)
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
	check(t, err)
	return a
}

func mustRun(t testing.TB, a *agent.Agent, in agent.Input, opts ...agent.RunOption) *agent.Result {
	t.Helper()
	result, err := a.Run(t.Context(), in, opts...)
	check(t, err)
	return result
}

// begun begins a run.
func begun(t testing.TB, a *agent.Agent, opts ...agent.RunOption) run.Key {
	t.Helper()
	key, err := a.Begin(t.Context(), human("go"), opts...)
	check(t, err)
	return key
}

// killed has a process work on an input for a while, and end.
func killed(t testing.TB, a *agent.Agent, after time.Duration, opts ...agent.RunOption) {
	t.Helper()
	ctx, kill := context.WithTimeout(t.Context(), after)
	defer kill()
	if _, err := a.Run(ctx, human("go"), opts...); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the end of the process", err)
	}
}

// asks begins [theRun], which waits for replies to n questions of a kind, in whatever process.
func asks(t testing.TB, a *agent.Agent, n int, kind run.QuestionKind) *agent.Result {
	t.Helper()
	got := mustRun(t, a, human("go"), agent.WithRun(theRun.ID))
	other := slices.ContainsFunc(got.Questions, func(q *run.Question) bool { return q.Kind != kind || !q.Survives })
	if got.Status != run.StatusWaiting || len(got.Questions) != n || other {
		t.Fatalf("got %s with the questions %v, want %d of the kind %s that survive", got.Status, got.Questions, n, kind)
	}
	return got
}

// resumed continues [theRun] until it is over or waits.
func resumed(t testing.TB, a *agent.Agent, replies ...run.Reply) *agent.Result {
	t.Helper()
	result, err := a.Resume(t.Context(), theRun, replies...)
	check(t, err)
	return result
}

// accepted is a reply that fills in a form, or says that a URL was visited.
func accepted(t testing.TB, q *run.Question, content map[string]any) run.Reply {
	t.Helper()
	reply, err := q.Accept(content)
	check(t, err)
	return reply
}

// load is what a store has of a run.
func load(t testing.TB, store record.Store, key run.Key) *record.Log {
	t.Helper()
	log, err := store.Load(t.Context(), key)
	check(t, err)
	return log
}

// check ends a test that cannot go on.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errorOf is the error of a call that returns something else, too, and errorOf3 that of one that returns two things.
func errorOf[T any](_ T, err error) error          { return err }
func errorOf3[T, U any](_ T, _ U, err error) error { return err }

// each are the events of a run, or what else comes without an error.
func each[T any](t testing.TB, all iter.Seq2[T, error]) iter.Seq[T] {
	return func(yield func(T) bool) {
		t.Helper()
		for e, err := range all {
			check(t, err)
			if !yield(e) {
				return
			}
		}
	}
}

// synctestRun runs a part of a test in a bubble.
func synctestRun(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

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

const (
	anthropicAnswer = `{"id":"2","type":"message","role":"assistant","model":"claude","stop_reason":"end_turn",
		"content":[{"type":"text","text":"Done."}],"usage":{"input_tokens":20,"output_tokens":3,"cache_read_input_tokens":7}}`
	openaiAnswer = `{"model":"gpt","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Done."}}],
		"usage":{"prompt_tokens":20,"completion_tokens":3,"total_tokens":23}}`
)

func decode(t *testing.T, text string) any {
	t.Helper()
	var v any
	check(t, json.Unmarshal([]byte(text), &v))
	return v
}
