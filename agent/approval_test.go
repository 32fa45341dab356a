package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func only(lines []string, word string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.Contains(line, word) })
}

func allowing(see func(*approval.Request)) approval.Func {
	return func(_ context.Context, a *approval.Request) (approval.Decision, error) {
		see(a)
		return approval.Decision{Allow: true}, nil
	}
}

// A question for a person is no failure, and no warning is logged.
func TestAskingLogsNothing(t *testing.T) {
	var log bytes.Buffer
	opts := &adapter.FuncOptions{Options: &adapter.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}}
	pay := adapter.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) { return "paid", nil }, opts)
	a := newAgent(t, play(uses(toolCall("1", "pay", "{}"))), &agent.Options{Tools: []adapter.Source{pay}, Person: agent.Person{Approve: agent.AskPerson}})
	check.Same(t, "questions, and what is logged", []any{len(mustRun(t, a, human("go")).Questions), log.String()}, []any{1, ""})
}

func TestApproval(t *testing.T) {
	model := play(uses(toolCall("1", "echo", `{"x":1}`), toolCall("2", "echo", `{"x":2}`), toolCall("3", "echo", `{"x":3}`), toolCall("4", "echo", `{"x":4}`),
		toolCall("5", "nothing", `{}`)), says("done"))
	decisions := map[string]approval.Decision{
		"1": {Allow: true},
		"2": {Reason: "too early"},
		"3": {Allow: true, Arguments: json.RawMessage(`{"x":30}`)},
		// 4: the zero value
	}
	approve := func(_ context.Context, a *approval.Request) (approval.Decision, error) {
		check.Equal(t, "asked about", a.Server+"."+a.Name+": "+a.Definition.Description, "box.echo: echo")
		return decisions[a.Call.ID], nil
	}
	a := boxed(t, model, &agent.Options{Person: agent.Person{Approve: approve}, Limits: run.Limits{Parallel: 1}})
	events, result := played(t, a.Events(t.Context(), human("go")))
	var got []string
	for _, e := range events {
		switch e.(type) {
		case *agent.ApprovalDecided, *agent.ToolStart, *agent.ToolEnd:
			got = append(got, describe(e))
		}
	}
	// Calls that are allowed run while a person decides on the next ones.
	check.Same(t, "decisions", only(got, "about"), []string{
		`turn 1: decided about echo (1): true `, `turn 1: decided about echo (2): false too early`,
		`turn 1: decided about echo (3): true `, `turn 1: decided about echo (4): false `,
	})
	ends := only(got, "ends:")
	slices.Sort(ends)
	check.Same(t, "ends", ends, []string{
		`turn 1: tool echo (1) ends: {"x":1}`,
		`turn 1: tool echo (2) ends: Error: the call of echo was denied: too early. Nothing was done.`,
		"turn 1: tool echo (3) ends: [the user changed the arguments to {\"x\":30}]\n{\"x\":30}",
		`turn 1: tool echo (4) ends: Error: the call of echo was denied. Nothing was done.`,
		`turn 1: tool nothing (5) ends: Error: there is no tool named "nothing". The tools are: ask, count, die, echo, fail, picture, sample, sleep`,
	})
	check.Same(t, "messages", lines(result.Messages), []string{
		`ai: 1=echo({"x":1}) 2=echo({"x":2}) 3=echo({"x":3}) 4=echo({"x":4}) 5=nothing({})`,
		`tool: 1/echo→"{\"x\":1}"`,
		`tool: 2/echo→"Error: the call of echo was denied: too early. Nothing was done."`,
		`tool: 3/echo→"[the user changed the arguments to {\"x\":30}]\n{\"x\":30}"`,
		`tool: 4/echo→"Error: the call of echo was denied. Nothing was done."`,
		`tool: 5/nothing→"Error: there is no tool named \"nothing\". The tools are: ask, count, die, echo, fail, picture, sample, sleep"`,
		`ai: "done"`,
	})
}

// A name that is off in case only must not get around the approval.
func TestApprovalOfSloppyName(t *testing.T) {
	model := play(uses(toolCall("1", " ECHO", `{"x":1}`)), says("done"))
	var asked []string
	approve := allowing(func(a *approval.Request) { asked = append(asked, a.Name) })
	got := mustRun(t, boxed(t, model, &agent.Options{Person: agent.Person{Approve: approve}}), human("go"))
	check.Same(t, "asked about", asked, []string{"echo"})
	// The history goes by the name that the model wrote.
	check.Same(t, "messages", lines(got.Messages[1:3]), []string{`ai: 1= ECHO({"x":1})`, `tool: 1/ ECHO→"{\"x\":1}"`})
}

// The person sees what is sent, not what the model wrote.
func TestApprovalShowsRepairedArguments(t *testing.T) {
	model := play(uses(toolCall("1", "echo", `"{\"x\":1}"`), toolCall("2", "echo", `{"path":"/tmp","path":"/etc"}`), toolCall("3", "echo", `[1]`)),
		says("done"))
	var asked []string
	approve := allowing(func(a *approval.Request) { asked = append(asked, string(a.Arguments)) })
	told := results(mustRun(t, boxed(t, model, &agent.Options{Person: agent.Person{Approve: approve}}), human("go")).Messages)
	check.Same(t, "asked", asked, []string{`{"x":1}`, `{"path":"/etc"}`})
	check.Same(t, "ran", told[:2], asked)
	check.Contains(t, "what the model was told of the third", told[2], "arguments of echo")
}

// An approval that fails ends the run before the call, whether it is the agent's or the toolset's.
func TestApprovalFails(t *testing.T) {
	closed := errors.New("window closed")
	fails := func(context.Context, *approval.Request) (approval.Decision, error) {
		return approval.Decision{Allow: true}, closed
	}
	for name, tt := range map[string]struct {
		ofAgent, ofToolset approval.Func
		is                 error
		text               string
	}{
		"error":         {fails, nil, closed, `turn 1: approve call of tool "echo": window closed`},
		"panic":         {func(context.Context, *approval.Request) (approval.Decision, error) { panic("oh no") }, nil, nil, "approve callback panicked: oh no"},
		"the toolset's": {nil, fails, adapter.ErrUndecided, `"echo": window closed`},
	} {
		t.Run(name, func(t *testing.T) {
			toolset, _ := open(t, &adapter.Options{Approve: tt.ofToolset})
			a := withTools(t, play(uses(toolCall("1", "echo", "{}"))), toolset, &agent.Options{Person: agent.Person{Approve: tt.ofAgent}})
			result, err := a.Run(t.Context(), human("go"))
			check.Text(t, err, tt.text)
			check.Same(t, "calls, and the error of the approval", []any{result.Usage.Calls, tt.is == nil || errors.Is(err, tt.is)}, []any{0, true})
		})
	}
}

func TestLeavingTheRangeEndsTheApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		returned := false
		approve := func(ctx context.Context, a *approval.Request) (approval.Decision, error) {
			if a.Call.ID == "1" { // which runs, and ends, while the person is asked about the other one
				return approval.Decision{Allow: true}, nil
			}
			<-ctx.Done()
			returned = true
			return approval.Decision{}, ctx.Err()
		}
		model := play(uses(sleep("1", 5), toolCall("2", "echo", "{}")))
		leaves(t, boxed(t, model, &agent.Options{Person: agent.Person{Approve: approve}}), typed("tool_end"))
		check.Equal(t, "the callback returned before the range was over", returned, true)
	})
}

func TestDeniedTurnsCount(t *testing.T) {
	deny := func(context.Context, *approval.Request) (approval.Decision, error) { return approval.Decision{}, nil }
	model := play(untilFinal(toolCall("", "echo", "")))
	got := mustRun(t, boxed(t, model, &agent.Options{Person: agent.Person{Approve: deny}, Limits: run.Limits{Failures: 2}}), human("go"))
	check.Same(t, "stopped with", []any{got.StopReason, got.Usage.Turns}, []any{agent.StopMaxFailures, 3})
}

// A call is asked about in one place, once: trust and memory are the toolset's, whoever decides.
func TestOneApproval(t *testing.T) {
	for name, test := range map[string]struct {
		ofAgent, ofToolset bool
		trust              adapter.Trust
		remember           approval.Scope
		want               []string
	}{
		"nobody":             {},
		"the agent's":        {ofAgent: true, want: []string{"agent 1", "agent 2"}},
		"the toolset's":      {ofToolset: true, want: []string{"toolset 1", "toolset 2"}},
		"both":               {ofAgent: true, ofToolset: true, want: []string{"agent 1", "agent 2"}},
		"a trusted server":   {ofAgent: true, ofToolset: true, trust: adapter.TrustFull},
		"remembered":         {ofAgent: true, remember: approval.ScopeTool, want: []string{"agent 1"}},
		"toolset remembers":  {ofToolset: true, remember: approval.ScopeTool, want: []string{"toolset 1"}},
		"only the same call": {ofAgent: true, remember: approval.ScopeArguments, want: []string{"agent 1", "agent 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			by := func(who string, set bool) approval.Func {
				if !set {
					return nil
				}
				return func(_ context.Context, a *approval.Request) (approval.Decision, error) {
					asked = append(asked, who+" "+a.Call.ID)
					return approval.Decision{Allow: true, Remember: test.remember}, nil
				}
			}
			toolset := openAll(t, &adapter.Options{Approve: by("toolset", test.ofToolset)},
				adapter.Server{Name: "box", Transport: newServer().connect(t), Policy: adapter.Policy{Trust: test.trust}})
			model := play(uses(toolCall("1", "echo", `{"x":1}`), toolCall("2", "echo", `{"x":2}`)), says("done"))
			a := withTools(t, model, toolset, &agent.Options{Person: agent.Person{Approve: by("agent", test.ofAgent)}})
			events, _ := played(t, a.Events(t.Context(), human("go")))
			for _, e := range of[*agent.ToolEnd](events) {
				check.Equal(t, e.Result.Text, e.Result.IsError, false)
			}
			check.Same(t, "asked", asked, test.want)
			check.Equal(t, "events, one for each question", len(of[*agent.ApprovalDecided](events)), len(test.want))
		})
	}
}

// An interceptor that changes the arguments has them approved in the course of the call. If that fails, the run ends, too.
func TestApprovalInTheCourseOfACall(t *testing.T) {
	closed := errors.New("window closed")
	change := func(next adapter.Handler) adapter.Handler {
		return func(ctx context.Context, r *adapter.Request) (*mcp.CallToolResult, error) {
			r.Arguments = json.RawMessage(`{"x":2}`)
			return next(ctx, r)
		}
	}
	for _, fails := range []bool{false, true} {
		toolset, _ := open(t, &adapter.Options{Intercept: []adapter.Interceptor{change}})
		var asked []string
		approve := func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			asked = append(asked, string(a.Arguments))
			if fails && len(asked) == 2 {
				return approval.Decision{}, closed
			}
			return approval.Decision{Allow: true}, nil
		}
		a := withTools(t, play(uses(toolCall("1", "echo", `{"x":1}`)), says("done")), toolset, &agent.Options{Person: agent.Person{Approve: approve}})
		result, err := a.Run(t.Context(), human("go"))
		check.Same(t, "asked", asked, []string{`{"x":1}`, `{"x":2}`})
		check.That(t, errors.Is(err, closed) == fails && (fails || err == nil && result.Output == "done"),
			"fails %t: got %v and %q", fails, err, result.Output)
	}
}

// A call that is allowed starts while the form of another one is open.
func TestCallBesideAnOpenForm(t *testing.T) {
	toolset := check.Value(adapter.Open(t.Context(), []adapter.Server{{Name: "weather", Transport: weather()}}, nil))(t)
	defer toolset.Close()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	started, open := make(chan struct{}), make(chan struct{})
	now := adapter.Func("now", "Tells the time.", func(context.Context, struct{}) (string, error) {
		close(started)
		return "noon", nil
	}, nil)
	wait := func(ctx context.Context, what <-chan struct{}) error {
		select {
		case <-what:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	a := newAgent(t, play(uses(toolCall("1", "forecast", `{}`), toolCall("2", "now", `{}`)), says("done")), &agent.Options{
		Tools: []adapter.Source{toolset, now}, Person: agent.Person{Approve: agent.AskPerson, Reply: func(ctx context.Context, q *run.Question) (run.Reply, error) {
			switch {
			case q.Kind == run.QuestionForm:
				close(open)
				if err := wait(ctx, started); err != nil {
					return run.Reply{}, err
				}
				return q.Accept(map[string]any{"city": "Oslo"})
			case q.Tool == "now":
				return q.Allow(), wait(ctx, open)
			}
			return q.Allow(), nil
		}},
	})
	check.Equal(t, "answer", check.Value(a.Run(ctx, human("go")))(t).Output, "done")
}
