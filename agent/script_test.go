package agent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// script is a model that plays one step for every call, the last one again and again, and keeps what it was given.
type script struct{ *agenttest.Model }

type step = agenttest.Step
type prompt = agenttest.Turn

func play(steps ...step) *script { return &script{agenttest.PlayRepeating(steps...)} }

func (s *script) prompts() []prompt { return s.Turns() }

// tooLittle is in the error of a run that cannot afford an answer.
const tooLittle = "too little of a limit is left for an answer"

// as is the script with another description, at its first step.
func (s *script) as(info model.Info) *script { return &script{s.WithInfo(info)} }

// called is the script as a model of that name.
func (s *script) called(name string) *script { return s.as(model.Info{Name: name, NoStreaming: true}) }

// streaming is the script as a model that streams.
func (s *script) streaming() *script { return s.as(model.Info{}) }

func replied(parts ...run.Part) *model.Response {
	return &model.Response{Message: run.Message{Role: run.RoleAssistant, Parts: parts}}
}

func changed(s step, change func(*model.Response)) step {
	return func(ctx context.Context, p prompt) (*model.Response, error) {
		reply, err := s(ctx, p)
		if err == nil {
			change(reply)
		}
		return reply, err
	}
}

// using has a step report tokens, of the model m-1.
func using(s step, input, output int64) step {
	return changed(s, func(r *model.Response) { r.Usage, r.Message.Model = run.Usage{Input: input, Output: output}, "m-1" })
}

// shows is a step that streams a text first.
func shows(text string, then step) step {
	return func(ctx context.Context, p prompt) (*model.Response, error) {
		if err := p.Stream(model.Delta{Text: text}); err != nil {
			return nil, err
		}
		return then(ctx, p)
	}
}

func breaks(err error) step {
	return func(context.Context, prompt) (*model.Response, error) { return nil, err }
}

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

func says(text string) step {
	return func(context.Context, prompt) (*model.Response, error) {
		return &model.Response{Message: run.Text(run.RoleAssistant, text), Finish: model.FinishStop}, nil
	}
}

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

func repeated(n int, name, arguments string) (calls []run.Part) {
	for i := range n {
		calls = append(calls, toolCall(fmt.Sprint(i), name, arguments))
	}
	return calls
}

func human(text string) []run.Message { return agent.Text(text) }

func newAgent(t testing.TB, model agent.Model, opts *agent.Options) *agent.Agent {
	t.Helper()
	return check.Value(agent.New(model, opts))(t)
}

func mustRun(t testing.TB, a *agent.Agent, in []run.Message, opts ...agent.RunOption) *agent.Result {
	t.Helper()
	return check.Value(a.Run(t.Context(), in, opts...))(t)
}

// paying is a tool that counts its calls.
func paying(calls *int) adapter.Source {
	return adapter.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) { *calls++; return "paid", nil }, nil)
}

// answers has the agent answer so.
func answers(t testing.TB, a *agent.Agent, want string, opts ...agent.RunOption) *agent.Result {
	t.Helper()
	got := mustRun(t, a, human("go"), opts...)
	check.Equal(t, "answer", got.Output, want)
	return got
}

func begun(t testing.TB, a *agent.Agent, opts ...agent.RunOption) run.Key {
	t.Helper()
	return check.Value(a.Begin(t.Context(), human("go"), opts...))(t)
}

// killed has a process work on an input for a while, and end.
func killed(t testing.TB, a *agent.Agent, after time.Duration, opts ...agent.RunOption) {
	t.Helper()
	ctx, kill := context.WithTimeout(t.Context(), after)
	defer kill()
	check.Is(t, check.Err(a.Run(ctx, human("go"), opts...)), context.DeadlineExceeded)
}

// asks begins [theRun], which waits for replies to n questions of a kind, in whatever process.
func asks(t testing.TB, a *agent.Agent, n int, kind run.QuestionKind) *agent.Result {
	t.Helper()
	got := mustRun(t, a, human("go"), agent.WithRun(theRun.ID))
	questions(t, got, n, kind)
	other := slices.ContainsFunc(got.Questions, func(q *run.Question) bool { return !q.Survives })
	check.Equal(t, "a question ends with its process", other, false)
	return got
}

// questions are those of a run that waits for replies to n of a kind.
func questions(t testing.TB, got *agent.Result, n int, kind run.QuestionKind) []*run.Question {
	t.Helper()
	other := slices.ContainsFunc(got.Questions, func(q *run.Question) bool { return q.Kind != kind })
	check.Require(t, got.Status == run.StatusWaiting && len(got.Questions) == n && !other,
		"got %s with the questions %v, want %d of the kind %s", got.Status, got.Questions, n, kind)
	return got.Questions
}

// resumed continues [theRun] until it is over or waits.
func resumed(t testing.TB, a *agent.Agent, replies ...run.Reply) *agent.Result {
	t.Helper()
	return check.Value(a.Resume(t.Context(), theRun, replies...))(t)
}

// accepted is a reply that fills in a form, or says that a URL was visited.
func accepted(t testing.TB, q *run.Question, content map[string]any) run.Reply {
	t.Helper()
	return check.Value(q.Accept(content))(t)
}

func load(t testing.TB, store record.Store, key run.Key) *record.Log {
	t.Helper()
	return check.Value(store.Load(t.Context(), key))(t)
}

func stateOf(t testing.TB, store record.Store, key run.Key) *ledger.State {
	t.Helper()
	return check.Value(ledger.StateOf(load(t, store, key).Records))(t)
}

// openQuestions are the questions of [theRun] to any process, which are n.
func openQuestions(t testing.TB, a *agent.Agent, n int) []*run.Question {
	t.Helper()
	open, err := a.Questions(t.Context(), theRun)
	check.Require(t, err == nil && len(open) == n, "got the questions %+v, %v, want %d", open, err, n)
	return open
}

// errorOf3 is the error of a call that returns two other things, too.
func errorOf3[T, U any](_ T, _ U, err error) error { return err }

// each are the events of a run, or what else comes without an error.
func each[T any](t testing.TB, all iter.Seq2[T, error]) iter.Seq[T] {
	return func(yield func(T) bool) {
		t.Helper()
		for e, err := range all {
			check.Must(t, err)
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

// lines are the messages in a form that is easy to compare: the role and the parts of each. Each result is a line.
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

// within reports a number that is less than least or more than most.
func within[T cmp.Ordered](t testing.TB, what any, got, least, most T) {
	t.Helper()
	check.That(t, got >= least && got <= most, "%v: got %v, want %v to %v", what, got, least, most)
}

// played are the events of a run, and the result that they make.
func played(t testing.TB, events iter.Seq2[agent.Event, error]) (all []agent.Event, result *agent.Result) {
	t.Helper()
	result = new(agent.Result)
	for e := range each(t, events) {
		result.Add(e)
		all = append(all, e)
	}
	return all, result
}

func of[E agent.Event](events []agent.Event) (all []E) {
	for _, event := range events {
		if e, ok := event.(E); ok {
			all = append(all, e)
		}
	}
	return all
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
	check.Must(t, json.Unmarshal([]byte(text), &v))
	return v
}
