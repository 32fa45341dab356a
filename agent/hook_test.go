package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestHooks(t *testing.T) {
	toolset, s := open(t, nil)
	m := play(uses(toolCall("1", "echo", `{"x":1}`), toolCall("2", "fail", `{}`), toolCall("3", "sleep", `{"seconds":1}`)),
		says("done, 4111 1111"))
	asked := false
	hook := agent.Hook{
		BeforeModel: func(_ context.Context, _ *agent.State, q *model.Request) error {
			q.Messages = append(q.Messages, run.Text(run.RoleUser, "(be kind)"))
			return nil
		},
		AfterModel: func(_ context.Context, _ *agent.State, reply *run.Message) error {
			for i := range reply.Parts {
				reply.Parts[i].Text = strings.ReplaceAll(reply.Parts[i].Text, "4111 1111", "****")
			}
			return nil
		},
		BeforeTool: func(_ context.Context, _ *agent.State, c *agent.Call) error {
			if c.Name == "sleep" {
				return agent.DenyCall("no time")
			}
			if c.Name == "echo" {
				c.Arguments = `{"x":2}`
			}
			return nil
		},
		AfterTool: func(_ context.Context, _ *agent.State, c *agent.Call, result *run.Part) error {
			result.Text = strings.ReplaceAll(result.Text, "disk", "d***")
			return nil
		},
	}
	approve := allowing(func(a *approval.Request) { asked = asked || a.Name == "sleep" })
	got := mustRun(t, withTools(t, m, toolset, &agent.Options{Hooks: []agent.Hook{hook}, Person: agent.Person{Approve: approve}}), human("go"))
	check.Same(t, "history", lines(got.Messages)[2:], []string{
		`tool: 1/echo→"{\"x\":2}"`, `tool: 2/fail→"Error: d*** full"`, `tool: 3/sleep→"Error: the call of sleep was denied: no time. Nothing was done."`, `ai: "done, ****"`,
	})
	check.Same(t, "answer, and whether the denied call was asked about and ran", []any{got.Output, asked, s.most.Load()},
		[]any{"done, ****", false, int32(0)})
	for _, p := range m.prompts() {
		check.Equal(t, "the last message", lines(p.Request.Messages[len(p.Request.Messages)-1:])[0], `human: "(be kind)"`)
	}
}

// A hook that fails ends the run, and so does one that leaves what cannot be used: calls in another form
// than the history has them, or arguments that do not fit. The model has not written them.
func TestHookFails(t *testing.T) {
	stop := errors.New("too risky")
	after := func(change func(*run.Message)) agent.Hook {
		return agent.Hook{AfterModel: func(_ context.Context, _ *agent.State, m *run.Message) error { change(m); return nil }}
	}
	for name, tt := range map[string]struct {
		hook agent.Hook
		want string
		ran  bool
	}{
		"before the model": {agent.Hook{BeforeModel: func(context.Context, *agent.State, *model.Request) error { return stop }}, "before the model: too risky", false},
		"after the model":  {agent.Hook{AfterModel: func(context.Context, *agent.State, *run.Message) error { return stop }}, "after the model: too risky", false},
		"before tool":      {agent.Hook{BeforeTool: func(context.Context, *agent.State, *agent.Call) error { return stop }}, `before tool "echo": too risky`, false},
		"after tool":       {agent.Hook{AfterTool: func(context.Context, *agent.State, *agent.Call, *run.Part) error { return stop }}, `after tool "echo": too risky`, true},
		"bad arguments": {agent.Hook{BeforeTool: func(_ context.Context, _ *agent.State, c *agent.Call) error {
			c.Arguments = `{"X":"all"}`
			return nil
		}}, `before tool "echo": its arguments do not fit: `, false},
		"other arguments": {after(func(m *run.Message) { m.Parts[0].Arguments = `{"X":1}` }),
			"after the model: the calls of the reply were changed", false},
		"another name":   {after(func(m *run.Message) { m.Parts[0].Name = "fail" }), "after the model: the calls of the reply were changed", false},
		"another id":     {after(func(m *run.Message) { m.Parts[0].ID = "2" }), "after the model: the calls of the reply were changed", false},
		"a call removed": {after(func(m *run.Message) { m.Parts = nil }), "after the model: the calls of the reply were changed", false},
		"a call added":   {after(func(m *run.Message) { m.Parts = append(m.Parts, m.Parts[0]) }), "after the model: the calls of the reply were changed", false},
	} {
		ran := false
		echo := adapter.Func("echo", "Echoes.", func(context.Context, struct{ X int }) (string, error) {
			ran = true
			return "ok", nil
		}, nil)
		a := newAgent(t, play(uses(toolCall("1", "echo", `{"X":300}`))), &agent.Options{Tools: []adapter.Source{echo}, Hooks: []agent.Hook{tt.hook}})
		got, err := a.Run(t.Context(), human("go"))
		check.Text(t, err, "hook 0, "+tt.want, name)
		check.Same(t, name+": status, and whether the call ran", []any{got.Status, ran}, []any{run.StatusFailed, tt.ran})
	}
}

// A model call that fails for a passing reason is made again, unless something of its reply was shown.
func TestModelRetries(t *testing.T) {
	fails := func(e model.Error) step { e.Err = errors.New("busy"); return breaks(&e) }
	busy := fails(model.Error{Kind: model.ErrorRateLimit})
	for name, tt := range map[string]struct {
		steps          []step
		retries, calls int
		ok             bool
	}{
		"passing":     {[]step{busy, busy, says("hi")}, 0, 3, true},
		"too often":   {[]step{busy}, 0, 3, false},
		"not wanted":  {[]step{busy, says("hi")}, -1, 1, false},
		"repeated":    {[]step{fails(model.Error{Kind: model.ErrorRateLimit, Retried: true})}, 0, 1, false},
		"as asked":    {[]step{fails(model.Error{Kind: model.ErrorRateLimit, RetryAfter: 20 * time.Second}), says("hi")}, 0, 2, true},
		"too long":    {[]step{fails(model.Error{Kind: model.ErrorUnavailable, RetryAfter: time.Minute})}, 0, 1, false},
		"no key":      {[]step{fails(model.Error{Kind: model.ErrorAuth})}, 0, 1, false},
		"shown":       {[]step{shows("He", busy), says("hi")}, 0, 1, false},
		"not passing": {[]step{breaks(errors.New("no key"))}, 0, 1, false},
	} {
		synctestRun(t, name, func(t *testing.T) {
			model, began := play(tt.steps...).streaming(), time.Now()
			_, err := newAgent(t, model, &agent.Options{Model: agent.ModelSettings{Retries: tt.retries}}).Run(t.Context(), human("go"))
			waited := time.Since(began)
			check.That(t, (waited > 0) == (tt.calls > 1) && (tt.calls <= 2 || waited >= 1500*time.Millisecond), "waited %v for %d calls, want longer after each failure", waited, tt.calls)
			check.Same(t, "success, and calls of the model", []any{err == nil, len(model.prompts())}, []any{tt.ok, tt.calls})
		})
	}
}

// A history that is too long for the model is made shorter, and the run says so.
func TestCompaction(t *testing.T) {
	model := play(slices.Repeat([]step{uses(toolCall("", "read", "{}"))}, 5)...)
	a := newAgent(t, model, &agent.Options{Tools: []adapter.Source{aLibrary()}, Compact: compact.Trim(&compact.Options{Window: 1000})})
	got := eventOf[*agent.Compacted](t, a)
	check.That(t, got.Replaced != 0, "got %+v, want what was replaced", got)
}

// The size of a history is the host's count of the last call, and an estimate of what has followed.
func TestSizeOfHistory(t *testing.T) {
	var got, want []int64
	compacts := func(_ context.Context, history []run.Message, b compact.Budget) (*compact.Result, error) {
		size := int64(0)
		if len(history) > 1 {
			size = 150 + compact.Estimate(history[len(history)-1:]) // of the result
		}
		got, want = append(got, b.Tokens), append(want, size)
		return nil, nil
	}
	model := play(counted(uses(toolCall("1", "read", "{}"))), counted(says("done")))
	mustRun(t, newAgent(t, model, &agent.Options{Tools: []adapter.Source{aLibrary()}, Compact: compacts}), human("go"))
	check.Same(t, "sizes", got, want)
	check.Equal(t, "calls", len(got), 2)
}

// A hook reads the state while other calls change it.
func TestHookReadsTheState(t *testing.T) {
	calls := repeated(8, "echo", `{}`)
	hook := agent.Hook{AfterTool: func(_ context.Context, s *agent.State, _ *agent.Call, _ *run.Part) error {
		_, err := s.MarshalJSON() // reads all of it, while other calls come to their ends
		return err
	}}
	mustRun(t, boxed(t, play(uses(calls...), says("done")), &agent.Options{Hooks: []agent.Hook{hook}}), human("go"))
}

// A result on which a hook fails is withheld: from the events, and from the model of the next
// input, or of the next process if the hook failed because its own has ended. So is what a hook removes.
func TestHookFailsAfterTool(t *testing.T) {
	down, withheld := errors.New("the guard is down"), "Error: the call of echo ended, and its result is withheld: a check of it failed."
	for name, test := range map[string]struct {
		ends bool
		err  error
		want string
	}{
		"the hook fails":   {false, down, withheld},
		"the process ends": {true, down, withheld},
		"the hook redacts": {false, nil, "***"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			guard := agent.Hook{AfterTool: func(ctx context.Context, _ *agent.State, _ *agent.Call, result *run.Part) error {
				if test.ends {
					kill()
				}
				result.Text = "***"
				return test.err
			}}
			store := record.NewMemory()
			first, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":"secret"}`)), says("ok")), agent.Options{Hooks: []agent.Hook{guard}})
			for e, err := range first.Events(ctx, human("go"), agent.WithRun(theRun.ID)) {
				end, ok := e.(*agent.ToolEnd)
				check.That(t, !ok || !strings.Contains(end.Part.Text+end.Result.Text, "secret") && end.Result.Raw == nil, "the event has the result: %+v", end)
				check.That(t, err == nil || test.ends || errors.Is(err, agent.ErrFailed), "got %v, want %v", err, agent.ErrFailed)
			}
			model := play(says("done"))
			second, _ := process(t, store, model, agent.Options{})
			if test.ends {
				resumed(t, second)
			} else {
				mustRun(t, second, human("and?"), agent.WithRun(theRun.ID))
			}
			check.Same(t, "what the model reads", lines(model.prompts()[0].Request.Messages)[2], fmt.Sprintf("tool: 1/echo→%q", test.want))
		})
	}
}

// A hook that overwrites what it gets changes neither the history, nor the next request, nor the response that the model
// has kept, and the event has nothing that it has removed.
func TestHookOverwrites(t *testing.T) {
	look := adapter.Func("look", "Looks.", func(context.Context, struct{}) (map[string]string, error) {
		return map[string]string{"key": "secret"}, nil
	}, nil)
	reply := replied(textPart("4111"))
	m := play(uses(toolCall("1", "look", "{}")), func(context.Context, prompt) (*model.Response, error) { return reply, nil })
	isFirst := true
	hook := agent.Hook{
		BeforeModel: func(_ context.Context, _ *agent.State, q *model.Request) error {
			if isFirst {
				q.Messages[0], q.Tools[0].Description = run.Text(run.RoleUser, "***"), "***"
			}
			isFirst = false
			return nil
		},
		AfterModel: func(_ context.Context, _ *agent.State, m *run.Message) error {
			m.Parts[0].Text = "****"
			return nil
		},
		AfterTool: func(_ context.Context, _ *agent.State, _ *agent.Call, result *run.Part) error {
			copy(result.Structured[bytes.Index(result.Structured, []byte("secret")):], "******")
			return nil
		},
	}
	events, got := played(t, newAgent(t, m, &agent.Options{Tools: []adapter.Source{look}, Hooks: []agent.Hook{hook}}).Events(t.Context(), human("go")))
	next := m.prompts()[1].Request
	check.Same(t, "the next request, and the output and the response", []string{next.Messages[0].Text(), next.Tools[0].Description, got.Output, reply.Message.Text()},
		[]string{"go", "Looks.", "****", "4111"})
	end := of[*agent.ToolEnd](events)[0]
	check.Equal(t, "structured", string(end.Part.Structured), `{"key":"******"}`)
	check.That(t, end.Result.Raw == nil, "got the raw result %+v, want none", end.Result.Raw)
}

// A process that ends gives its hooks some seconds for a result that is known.
func TestHookAtTheEnd(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration
		want  string
	}{
		"in time":  {4 * time.Second, "worked"},
		"too long": {time.Hour, "Error: the call of work ended, and its result is withheld: a check of it failed."},
	} {
		synctestRun(t, name, func(t *testing.T) {
			ctx, kill := context.WithCancel(t.Context())
			guard := agent.Hook{AfterTool: func(ctx context.Context, _ *agent.State, _ *agent.Call, _ *run.Part) error {
				kill()
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(test.takes):
					return nil
				}
			}}
			store, model := record.NewMemory(), turnsOf{turns: 1}
			first := worker(t, model, func() {}, agent.Options{Durable: agent.Durable{Store: store}, Hooks: []agent.Hook{guard}})
			check.Fails(t, check.Err(first.Run(ctx, human("go"), agent.WithRun(theRun.ID))), "the run")
			got := resumed(t, worker(t, model, func() {}, agent.Options{Durable: agent.Durable{Store: store}}))
			check.Same(t, "what the model reads", lines(got.Messages)[2], fmt.Sprintf("tool: 0/work→%q", test.want))
		})
	}
}

// A hook ends the run with an answer, at each of the four points, and the history stays one that providers take.
func TestStop(t *testing.T) {
	stop := agent.StopRun("enough")
	for name, tt := range map[string]struct {
		hook agent.Hook
		want []string // the history
	}{
		"before the model": {agent.Hook{BeforeModel: func(_ context.Context, s *agent.State, _ *model.Request) error {
			if len(s.History()) == 1 {
				return nil
			}
			return stop
		}}, []string{
			`human: "go"`, `ai: 1=echo({"x":1}) 2=echo({"x":2})`, `tool: 1/echo→"{\"x\":1}"`, `tool: 2/echo→"{\"x\":2}"`, `ai: "enough"`,
		}},
		"after the model": {agent.Hook{AfterModel: func(context.Context, *agent.State, *run.Message) error { return stop }},
			[]string{`human: "go"`, `ai: "enough"`}},
		"before a tool": {agent.Hook{BeforeTool: func(context.Context, *agent.State, *agent.Call) error { return stop }}, []string{
			`human: "go"`, `ai: 1=echo({"x":1}) 2=echo({"x":2})`,
			`tool: 1/echo→"The call was not made: the run was stopped."`, `tool: 2/echo→"The call was not made: the run was stopped."`, `ai: "enough"`,
		}},
		"after a tool": {agent.Hook{AfterTool: func(_ context.Context, _ *agent.State, c *agent.Call, _ *run.Part) error {
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
			model := play(uses(toolCall("1", "echo", `{"x":1}`), toolCall("2", "echo", `{"x":2}`)))
			opts := &agent.Options{Hooks: []agent.Hook{tt.hook}, Durable: agent.Durable{Store: record.NewMemory()}, Limits: run.Limits{Parallel: 1}}
			a := boxed(t, model, opts)
			got := mustRun(t, a, human("go"))
			check.Same(t, "end", []any{got.Status, got.StopReason, got.Output, len(model.prompts())},
				[]any{run.StatusFinished, agent.StopHook, "enough", 1})
			check.Same(t, "history", lines(got.Messages), tt.want)
			_, again := played(t, a.Replay(t.Context(), run.Key{ID: agent.Inside(got.State).ID}, agent.Position{}))
			check.Same(t, "history of the replay", append([]string{`human: "go"`}, lines(again.Messages)...), tt.want)
		})
	}
}

// What a hook has decided is kept with the outcome of the call: another process, without the hook, ends the run in the
// same way once a call that was sent has its result. A call that will not be made is not asked about.
func TestStopIsKept(t *testing.T) {
	store := record.NewMemory()
	opts := agent.Options{Person: agent.Person{Approve: func(ctx context.Context, a *approval.Request) (approval.Decision, error) {
		if string(a.Arguments) == `{"x":2}` {
			return agent.AskPerson(ctx, a)
		}
		return approval.Decision{Allow: true}, nil
	}}}
	stopping := opts
	stopping.Hooks = []agent.Hook{{AfterTool: func(_ context.Context, _ *agent.State, _ *agent.Call, r *run.Part) error {
		return agent.StopRun(r.Text)
	}}}
	model := play(uses(toolCall("1", "ask", "{}"), toolCall("2", "echo", `{"x":1}`), toolCall("3", "echo", `{"x":2}`)))
	first, _ := process(t, store, model, stopping)
	got := asks(t, first, 1, run.QuestionForm)
	second, _ := process(t, store, play(says("never asked")), opts)
	got = resumed(t, second, accepted(t, got.Questions[0], map[string]any{"name": "Ann"}))
	check.Equal(t, "stop reason", got.StopReason, agent.StopHook)
	check.Same(t, "history", lines(got.Messages)[2:], []string{
		`tool: 1/ask→"accept Ann"`, `tool: 2/echo→"{\"x\":1}"`, `tool: 3/echo→"The call was not made: the run was stopped."`, `ai: "{\"x\":1}"`,
	})
}

// The answer of a hook to As is its JSON.
func TestStopWithOutput(t *testing.T) {
	for answer, want := range map[string]error{`{"city":"Oslo","degree":7}`: nil, "Oslo": agent.ErrNoOutput} {
		hooks := []agent.Hook{{BeforeModel: func(context.Context, *agent.State, *model.Request) error { return agent.StopRun(answer) }}}
		got, result, err := agent.RunAs[weatherReport](t.Context(), newAgent(t, play(says("no")), &agent.Options{Hooks: hooks}), human("go"))
		check.That(t, want != nil || err == nil && got == (weatherReport{"Oslo", 7}) && json.Valid(agent.Inside(result.State).Structured),
			"got %+v, %v", got, err)
		check.That(t, want == nil || err != nil, "%s: got no error, want %v", answer, want)
	}
}
