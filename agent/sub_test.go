package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// boss is an agent with a sub-agent named "helper".
func boss(t *testing.T, model *script, helper adapter.Source, opts agent.Options) *agent.Agent {
	t.Helper()
	opts.Tools = append(opts.Tools, helper)
	return newAgent(t, model, &opts)
}

func sub(t *testing.T, a *agent.Agent, make func(*agent.Agent, string, string) (adapter.Source, error)) adapter.Source {
	t.Helper()
	return check.Value(make(a, "helper", "Helps."))(t)
}

func TestSubAgent(t *testing.T) {
	helper := boxed(t, play(onInput(uses(toolCall("1", "echo", `{"x":1}`)), says("helped"))), nil)
	steps := []step{uses(toolCall("a", "helper", `{"task":"help"}`), toolCall("b", "helper", `{"task":"help"}`)), says("done")}
	a := boss(t, play(steps...), sub(t, helper, agent.NewSubAgent), agent.Options{})
	var paths []string
	events, result := played(t, a.Events(t.Context(), human("go")))
	for _, end := range of[*agent.ToolEnd](events) {
		paths = append(paths, strings.Join(end.Path, "/")+":"+end.Name)
	}
	check.Same(t, "history", lines(result.Messages), []string{
		`ai: a=helper({"task":"help"}) b=helper({"task":"help"})`, `tool: a/helper→"helped"`, `tool: b/helper→"helped"`, `ai: "done"`,
	})
	check.Equal(t, fmt.Sprint("echo in each run of the helper: ", paths), strings.Count(strings.Join(paths, " "), "helper:echo"), 2)
	got := mustRun(t, boss(t, play(steps...), sub(t, helper, agent.NewSubAgent), agent.Options{}), human("go"))
	check.Same(t, "spent", []run.Usage{got.Usage, result.Usage}, []run.Usage{{Turns: 6, Calls: 4}, {Turns: 6, Calls: 4}})
}

func TestSubAgentWithoutAName(t *testing.T) {
	check.Equal(t, "error", fmt.Sprint(check.Err(agent.NewSubAgent(newAgent(t, play(says("x")), nil), "", "Helps."))), "sub-agent: the name is empty")
}

// The calls of two such sub-agents or functions could not be told apart.
func TestSubAgentTwice(t *testing.T) {
	err := check.Err(agent.New(play(says("x")), &agent.Options{Tools: []adapter.Source{paying(new(int)), paying(new(int))}}))
	check.Equal(t, "two functions", fmt.Sprint(err), `new agent: options: Tools[1] has a second "pay" with the same definition: give it another name`)
	named := func(description string) adapter.Source {
		return check.Value(agent.NewSubAgent(newAgent(t, play(says("x")), nil), "expert", description))(t)
	}
	expert := named("Knows.")
	for want, second := range map[string]adapter.Source{"the same": expert, "an equal one": named("Knows.")} {
		err := check.Err(agent.New(play(says("x")), &agent.Options{Tools: []adapter.Source{named("Knows more."), expert, second}}))
		check.Equal(t, want, fmt.Sprint(err), `new agent: options: Tools[2] has a second "expert" with the same definition: give it another name`)
	}
	newAgent(t, play(says("x")), &agent.Options{Tools: []adapter.Source{expert, named("Knows more.")}})
	err = check.Err(agent.New(play(says("x")), &agent.Options{Tools: []adapter.Source{adapter.Merge(paying(new(int)), expert), paying(new(int))}}))
	check.Equal(t, "a function in a merged source", fmt.Sprint(err), `new agent: options: Tools[1] has a second "pay" with the same definition: give it another name`)
	err = check.Err(agent.New(play(says("x")), &agent.Options{Tools: []adapter.Source{adapter.Merge(paying(new(int)), expert)}}))
	check.Equal(t, "a sub-agent in a merged source", fmt.Sprint(err), `new agent: options: Tools: the sub-agent "expert" is part of another source: let it be one of Tools`)
}

// A question that a sub-agent's server asks is one of the run, and is answered in another process.
func TestSubAgentAsks(t *testing.T) {
	store := record.NewMemory()
	build := func(bossModel, helperModel *script) *agent.Agent {
		return boss(t, bossModel, sub(t, boxed(t, helperModel, nil), agent.NewSubAgent), agent.Options{Durable: agent.Durable{Store: store}})
	}
	asking := uses(toolCall("1", "ask", `{}`))
	first := build(play(uses(toolCall("a", "helper", `{"task":"one"}`), toolCall("b", "helper", `{"task":"two"}`))), play(asking))
	got := asks(t, first, 2, run.QuestionForm)
	check.Equal(t, "who asks", got.Questions[0].Path[0], "helper")
	answer := func(i int, name string) run.Reply { return accepted(t, got.Questions[i], map[string]any{"name": name}) }
	bob, ann := answer(1, "Bob"), answer(0, "Ann")
	second := build(play(says("done")), play(says("helped")))
	got = resumed(t, second, bob)
	check.Same(t, "status, and questions that are left", []any{got.Status, len(got.Questions)}, []any{run.StatusWaiting, 1})
	check.Equal(t, "answer", resumed(t, second, ann).Output, "done")
}

// Another agent takes over with the history, and a task if the model gives it one.
func TestHandoff(t *testing.T) {
	for arguments, want := range map[string][]string{`{"task":"take it"}`: {`human: "go"`, `human: "take it"`}, `{}`: {`human: "go"`}} {
		expert, model := play(says("expert's answer")), play(uses(toolCall("a", "helper", arguments)))
		got := answers(t, boss(t, model, sub(t, newAgent(t, expert, nil), agent.NewHandoff), agent.Options{}), "expert's answer")
		check.Equal(t, "calls of the first model", len(model.prompts()), 1)
		check.Same(t, "the expert's prompt", lines(expert.prompts()[0].Request.Messages), want)
		check.Same(t, "history", lines(got.Messages), []string{
			`human: "go"`, fmt.Sprintf("ai: a=helper(%s)", arguments), `tool: a/helper→"expert's answer"`, `ai: "expert's answer"`,
		})
	}
}

// A sub-agent that fails is a failed call, and its limits are the limits of the run.
func TestSubAgentFails(t *testing.T) {
	var got *agent.Result
	for want, helper := range map[string]*script{
		"": play(breaks(errors.New("secret"))), "; it may have done a part of it": play(uses(toolCall("1", "pay", "{}")), breaks(errors.New("secret"))),
	} {
		broken := newAgent(t, helper, &agent.Options{Tools: []adapter.Source{paying(new(int))}})
		got = mustRun(t, boss(t, play(uses(toolCall("a", "helper", `{"task":"x"}`)), says("done")), sub(t, broken, agent.NewSubAgent), agent.Options{}), human("go"))
		check.Equal(t, "what the model is told", lines(got.Messages)[2], `tool: a/helper→"Error: the agent helper failed and gave no answer`+want+`."`)
	}
	busy := newAgent(t, play(untilFinal(toolCall("", "x", "{}"))), &agent.Options{Limits: run.Limits{Failures: -1, Calls: -1, Turns: -1}})
	got = mustRun(t, boss(t, play(uses(toolCall("a", "helper", `{"task":"x"}`)), says("done")), sub(t, busy, agent.NewSubAgent),
		agent.Options{Limits: run.Limits{Calls: 3}}), human("go"))
	check.Contains(t, "what the model is told: the helper's answer at the limit", lines(got.Messages)[2], "enough")
}

// A panic of what approves is told, wherever the call is from: by an event, by the error of the call, and with its
// stack in the log of the toolset.
func TestApprovalPanicsBelow(t *testing.T) {
	for name, asks := range map[string]bool{"Approve of the agent": true, "Approve of the toolset": false} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			breaks := func(context.Context, *approval.Request) (approval.Decision, error) { panic("oh no") }
			tools, opts := adapter.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, agent.Options{}
			if asks {
				opts.Person.Approve = breaks
			} else {
				tools.Approve = breaks
			}
			ran := false
			work := adapter.Func("work", "", func(context.Context, struct{}) (string, error) {
				ran = true
				return "", nil
			}, &adapter.FuncOptions{Options: &tools})
			helper := newAgent(t, play(uses(toolCall("1", "work", "{}")), says("helped")), &agent.Options{Tools: []adapter.Source{work}})
			a := boss(t, play(uses(toolCall("a", "helper", `{"task":"x"}`)), says("done")), sub(t, helper, agent.NewSubAgent), opts)
			events, result := played(t, a.Events(t.Context(), human("go")))
			warned := strings.Contains(fmt.Sprint(result.Warnings), "approve callback panicked: oh no")
			failed := slices.ContainsFunc(of[*agent.ToolEnd](events), func(e *agent.ToolEnd) bool {
				return e.Name == "helper" && e.Result.Err != nil && strings.Contains(e.Result.Err.Error(), "oh no")
			})
			check.That(t, warned && failed && !ran && strings.Contains(log.String(), "oh no") && strings.Contains(log.String(), "sub_test.go"),
				"got a warning: %t, an error: %t, a call: %t, and the log %s", warned, failed, ran, &log)
		})
	}
}

// A caller of Run alone gets the warnings, of sub-agents as well: so many, and of bounded length.
func TestWarningsOfARun(t *testing.T) {
	long := strings.Repeat("é", 4<<10)
	broken := newAgent(t, play(breaks(errors.New(long))), nil)
	calls := repeated(150, "helper", `{"task":"x"}`)
	fresh := func() *agent.Agent {
		return boss(t, play(uses(calls...), says("done")), sub(t, broken, agent.NewSubAgent), agent.Options{Limits: run.Limits{Calls: -1}})
	}
	got := mustRun(t, fresh(), human("go"))
	events, added := played(t, fresh().Events(t.Context(), human("go")))
	shown := slices.DeleteFunc(of[*agent.Warning](events), func(w *agent.Warning) bool { return len(w.Text) <= len(long) })
	check.Equal(t, "warnings as events, each as it is", len(shown), 150)
	for name, r := range map[string]*agent.Result{"Run": got, "Add": added} {
		check.Equal(t, name+": warnings", len(r.Warnings), 100)
		for _, w := range r.Warnings {
			check.Require(t, strings.HasPrefix(w.Text, "the agent helper failed: ") && len(w.Text) <= 1100 && utf8.ValidString(w.Text) && len(w.Path) == 1,
				"%s: got the warning %.200q of %d bytes at %q", name, w.Text, len(w.Text), w.Path)
		}
	}
}

// Sub-agents are only so deep.
func TestSubAgentsAreDeep(t *testing.T) {
	a := newAgent(t, play(says("bottom")), nil)
	for range 3 {
		a = boss(t, play(uses(toolCall("a", "helper", `{"task":"x"}`)), says("level")), sub(t, a, agent.NewSubAgent), agent.Options{Limits: run.Limits{Depth: 2}})
	}
	refused := false
	events, _ := played(t, a.Events(t.Context(), human("go")))
	for _, end := range of[*agent.ToolEnd](events) {
		refused = refused || end.Part.IsError && strings.Contains(end.Result.Err.Error(), "Limits.Depth") && len(end.Path) == 2
	}
	check.Equal(t, "the third level is refused", refused, true)
}

// What guards the calls of an agent guards the calls of its sub-agents.
func TestSubAgentIsGuarded(t *testing.T) {
	toolset, s := open(t, nil)
	helper := withTools(t, play(uses(toolCall("1", "sleep", `{"seconds":1}`)), says("helped")), toolset, nil)
	steps := []step{uses(toolCall("a", "helper", `{"task":"x"}`)), says("done")}
	a := boss(t, play(steps...), sub(t, helper, agent.NewSubAgent), agent.Options{Person: agent.Person{Approve: agent.AskPerson}})
	check.Equal(t, "the question is about", questions(t, mustRun(t, a, human("go")), 1, run.QuestionApproval)[0].Tool, "sleep")
	check.Equal(t, "calls that are asked about", s.most.Load(), 0)
	deny := agent.Hook{BeforeTool: func(_ context.Context, _ *agent.State, c *agent.Call) error {
		if c.Name == "sleep" {
			return agent.DenyCall("no")
		}
		return nil
	}}
	helper = withTools(t, play(uses(toolCall("1", "sleep", `{"seconds":1}`)), says("helped")), toolset, nil)
	mustRun(t, boss(t, play(steps...), sub(t, helper, agent.NewSubAgent), agent.Options{Hooks: []agent.Hook{deny}}), human("go"))
	check.Equal(t, "calls that the hook denies", s.most.Load(), 0)
}

// A run on behalf of a view makes calls of the view. The model of its sub-agent makes its own.
func TestSubAgentOfAView(t *testing.T) {
	var mu sync.Mutex // guards the map: calls run side by side
	views := map[string]string{}
	tool := func(name string) adapter.Source {
		return adapter.Func(name, "", func(ctx context.Context, _ struct{}) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			views[name] = adapter.ViewFrom(ctx)
			return "ok", nil
		}, &adapter.FuncOptions{ReadOnly: true})
	}
	helper := newAgent(t, play(uses(toolCall("1", "below", "{}")), says("helped")), &agent.Options{Tools: []adapter.Source{tool("below")}})
	a := boss(t, play(uses(toolCall("a", "above", "{}"), toolCall("b", "helper", `{"task":"help"}`)), says("done")),
		sub(t, helper, agent.NewSubAgent), agent.Options{Tools: []adapter.Source{tool("above")}})
	check.Must(t, check.Err(a.Run(adapter.WithView(t.Context(), "ui://p/v"), human("go"))))
	check.Same(t, "views", views, map[string]string{"above": "ui://p/v", "below": ""})
}
