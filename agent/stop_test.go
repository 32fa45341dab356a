package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// A hook ends the run with an answer, at each of the four points, and the history stays
// one that providers take.
func TestStop(t *testing.T) {
	stop := agent.Stop("enough")
	for name, tt := range map[string]struct {
		hook agent.Hook
		want []string // the history
	}{
		"before the model": {agent.Hook{BeforeModel: func(_ context.Context, s *agent.State, _ *agent.ModelCall) error {
			if s.Turn() < 2 {
				return nil
			}
			return stop
		}}, []string{
			`human: "go"`, `ai: 1=echo({"x":1}) 2=echo({"x":2})`, `tool: 1/echo→"{\"x\":1}"`, `tool: 2/echo→"{\"x\":2}"`, `ai: "enough"`,
		}},
		"after the model": {agent.Hook{AfterModel: func(context.Context, *agent.State, *run.Message) error { return stop }},
			[]string{`human: "go"`, `ai: "enough"`}},
		"before a tool": {agent.Hook{BeforeTool: func(context.Context, *agent.State, *agent.ToolCall) error { return stop }}, []string{
			`human: "go"`, `ai: 1=echo({"x":1}) 2=echo({"x":2})`,
			`tool: 1/echo→"The call was not made: the run was stopped."`, `tool: 2/echo→"The call was not made: the run was stopped."`, `ai: "enough"`,
		}},
		"after a tool": {agent.Hook{AfterTool: func(_ context.Context, _ *agent.State, c *agent.ToolCall, _ *run.Part) error {
			if c.ID == "1" {
				return stop
			}
			return nil
		}}, []string{
			`human: "go"`, `ai: 1=echo({"x":1}) 2=echo({"x":2})`,
			`tool: 1/echo→"{\"x\":1}"`, `tool: 2/echo→"The call was not made: the run was stopped."`, `ai: "enough"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			toolset, _ := open(t, nil)
			model := play(uses(toolCall("1", "echo", `{"x":1}`), toolCall("2", "echo", `{"x":2}`)))
			store := record.NewMemory()
			a := withTools(t, model, toolset, &agent.Options{Hooks: []agent.Hook{tt.hook}, Durable: agent.Durable{Store: store}, Limits: run.Limits{Parallel: 1}})
			got := mustRun(t, a, human("go"))
			if got.Status != run.StatusFinished || got.StopReason != agent.StopHook || got.Output != "enough" || len(model.prompts()) != 1 {
				t.Errorf("got %+v after %d model calls", got, len(model.prompts()))
			}
			diff(t, "history", lines(history(got)), tt.want)
			again := &agent.Result{Messages: human("go")}
			for e := range each(t, a.Replay(t.Context(), run.Key{ID: agent.Inside(got.State).ID}, agent.Position{})) {
				again.Add(e)
			}
			diff(t, "history of the replay", lines(history(again)), tt.want)
		})
	}
}

// What a hook has decided is kept with the outcome of the call: another process, without
// the hook, ends the run in the same way once a call that was sent has its result. A call
// that will not be made is not asked about.
func TestStopIsKept(t *testing.T) {
	store := record.NewMemory()
	opts := agent.Options{Person: agent.Person{Approve: func(ctx context.Context, a *approval.Request) (approval.Decision, error) {
		if string(a.Arguments) == `{"x":2}` {
			return agent.AskPerson(ctx, a)
		}
		return approval.Allow(), nil
	}}}
	stopping := opts
	stopping.Hooks = []agent.Hook{{AfterTool: func(_ context.Context, _ *agent.State, _ *agent.ToolCall, r *run.Part) error {
		return agent.Stop(r.Text)
	}}}
	model := play(uses(toolCall("1", "ask", "{}"), toolCall("2", "echo", `{"x":1}`), toolCall("3", "echo", `{"x":2}`)))
	first, _ := process(t, store, model, stopping)
	got := asks(t, first, 1, run.QuestionForm)
	answer := accepted(t, got.Questions[0], map[string]any{"name": "Ann"})
	second, _ := process(t, store, play(says("never asked")), opts)
	got, err := second.ResumeRun(t.Context(), theRun, answer)
	if err != nil || got.StopReason != agent.StopHook {
		t.Fatalf("got %+v, %v", got, err)
	}
	diff(t, "history", lines(history(got))[2:], []string{
		`tool: 1/ask→"accept Ann"`, `tool: 2/echo→"{\"x\":1}"`, `tool: 3/echo→"The call was not made: the run was stopped."`, `ai: "{\"x\":1}"`,
	})
}

// A call that waits for a sign-in is not made after a stop, and the person is not waited for.
func TestStopEndsSignIn(t *testing.T) {
	for _, prompted := range []bool{false, true} {
		synctestRun(t, fmt.Sprint("a person is asked: ", prompted), func(t *testing.T) {
			g := newGate(t)
			local := adapter.Func("local", "x", func(context.Context, struct{}) (string, error) {
				time.Sleep(time.Second) // until the sign-in is asked for
				return "ok", nil
			}, nil)
			opts := agent.Options{Tools: []adapter.Source{local}, Hooks: []agent.Hook{{AfterTool: func(_ context.Context, _ *agent.State, c *agent.ToolCall, _ *run.Part) error {
				return agent.Stop("enough")
			}}}}
			if prompted {
				opts.Person.Reply = func(ctx context.Context, q *run.Question) (run.Reply, error) {
					<-ctx.Done()
					g.sign(true)
					return q.Accept(nil)
				}
			}
			got := mustRun(t, g.process(t, eras[1], play(uses(toolCall("1", "echo", "{}"), toolCall("2", "local", "{}"))), opts), human("go"))
			diff(t, "history", lines(history(got))[2:], []string{
				`tool: 1/echo→"The call was not made: the run was stopped."`, `tool: 2/local→"ok"`, `ai: "enough"`,
			})
			if g.ran != 0 {
				t.Errorf("%d calls were sent after the stop", g.ran)
			}
		})
	}
}

// The answer of a hook to As is its JSON.
func TestStopWithOutput(t *testing.T) {
	for answer, want := range map[string]error{`{"city":"Oslo","degree":7}`: nil, "Oslo": agent.ErrNoOutput} {
		hooks := []agent.Hook{{BeforeModel: func(context.Context, *agent.State, *agent.ModelCall) error { return agent.Stop(answer) }}}
		got, result, err := agent.As[weatherReport](t.Context(), newAgent(t, play(says("no")), &agent.Options{Hooks: hooks}), human("go"))
		if want == nil && (err != nil || got != (weatherReport{"Oslo", 7}) || !json.Valid(agent.Inside(result.State).Structured)) {
			t.Errorf("got %+v, %v", got, err)
		}
		if want != nil && err == nil {
			t.Errorf("%s: got no error, want %v", answer, want)
		}
	}
}
