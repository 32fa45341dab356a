package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/replydata"
	"github.com/mcpchain/mcpchain/price"
)

func TestSystemMessages(t *testing.T) {
	model := play(says("hello"))
	messages := append([]run.Message{run.Text(run.RoleSystem, "Speak French.")}, human("hi")...)
	got := mustRun(t, newAgent(t, model, &agent.Options{System: "Be brief."}), messages)
	check.Same(t, "prompt", asked(model.prompts()[0]), []string{`system: "Be brief."`, `system: "Speak French."`, `human: "hi"`})
	check.Same(t, "history", lines(got.Messages), []string{`system: "Speak French."`, `human: "hi"`, `ai: "hello"`})
}

func TestEventsOfATurn(t *testing.T) {
	a := newAgent(t, play(uses(toolCall("a", "nothing", `{"x":1}`)), says("sorry")).called("m-1"), nil)
	check.Same(t, "events", happenings(t, a, func(agent.Event) bool { return true }), []string{
		"turn 1: starts",
		"model m-1 ends: , 1 calls, tool_calls",
		`turn 1: tool nothing (a) ends: Error: there is no tool named "nothing". There are no tools.`,
		"turn ends with 2 messages",
		"turn 2: starts",
		"model m-1 ends: sorry, 0 calls, stop",
		"turn ends with 1 messages",
		"answer: sorry (answer)",
	})
}

func describe(e agent.Event) string {
	switch e := e.(type) {
	case *agent.ModelStart:
		return fmt.Sprintf("turn %d: starts", e.Turn)
	case *agent.ModelEnd:
		return fmt.Sprintf("model %s ends: %s, %d calls, %s", e.Model, e.Text, len(e.ToolCalls), e.FinishReason)
	case *agent.ApprovalDecided:
		return fmt.Sprintf("turn %d: decided about %s (%s): %v %s", e.Turn, e.Name, e.ID, e.Decision.Allow, e.Decision.Reason)
	case *agent.ToolStart:
		return fmt.Sprintf("turn %d: tool %s (%s) starts", e.Turn, e.Name, e.ID)
	case *agent.ToolProgress:
		return fmt.Sprintf("turn %d: tool %s (%s) at %v", e.Turn, e.Name, e.ID, e.Progress.Progress)
	case *agent.ToolEnd:
		return fmt.Sprintf("turn %d: tool %s (%s) ends: %s", e.Turn, e.Name, e.ID, e.Result.Text)
	case *agent.Replied:
		r, err := replydata.ElicitResult(e.Question.Elicit, string(e.Reply.Action), e.Reply.Content)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s asks in %s: %s, and was answered: %s %v", e.Question.Server, e.Question.Tool, e.Question.Elicit.Message, r.Action, r.Content)
	case *agent.Suspended:
		return fmt.Sprintf("waits for %d answers", len(e.Questions))
	case *agent.Elicited:
		asked := fmt.Sprintf("%s asks in %s: %s", e.Server, name(e.Call), e.Params.Message)
		if e.Err != nil {
			return fmt.Sprintf("%s, and was answered: %v", asked, e.Err)
		}
		return fmt.Sprintf("%s, and was answered: %s %v", asked, e.Result.Action, e.Result.Content)
	case *agent.Sampled:
		if e.Err != nil {
			return fmt.Sprintf("%s got no completion in %s: %v", e.Server, name(e.Call), e.Err)
		}
		return fmt.Sprintf("%s got a completion of %s in %s", e.Server, e.Result.Model, name(e.Call))
	case *agent.Warning:
		return e.Text
	case *agent.TurnEnd:
		return fmt.Sprintf("turn ends with %d messages", len(e.Messages))
	case *agent.Output:
		return fmt.Sprintf("answer: %s (%s)", e.Text, e.StopReason)
	}
	return fmt.Sprintf("%T", e)
}

func name(c *agent.Call) string {
	if c == nil {
		return "an unknown call"
	}
	return c.Tool
}

func TestAddingEventsGivesTheResult(t *testing.T) {
	stop := agent.Hook{BeforeTool: func(context.Context, *agent.State, *agent.Call) error { return agent.StopRun("enough") }}
	look := adapter.Func("look", "", func(context.Context, struct{}) (string, error) { return "a tree", nil }, nil)
	for name, opts := range map[string]*agent.Options{"output": nil, "stopped": {Tools: []adapter.Source{look}, Hooks: []agent.Hook{stop}}} {
		fresh := func() *agent.Agent { return newAgent(t, play(uses(toolCall("a", "look", "{}")), says("done")), opts) }
		want := mustRun(t, fresh(), human("go"))
		_, got := played(t, fresh().Events(t.Context(), human("go")))
		got.Messages = append(human("go"), got.Messages...)
		for _, r := range []*agent.Result{got, want} {
			r.State = nil
			for i := range r.Messages {
				r.Messages[i].At = time.Time{}
			}
		}
		check.Same(t, name, got, want)
	}
}

func TestEveryRangeIsARun(t *testing.T) {
	model := play(says("yes"))
	events := newAgent(t, model, nil).Events(t.Context(), human("go"))
	for range 2 {
		for range each(t, events) {
		}
	}
	check.Equal(t, "calls of the model", len(model.prompts()), 2)
}

func TestLeavingTheRangeEndsTheRun(t *testing.T) {
	for stage, steps := range map[string][]step{
		"*agent.ModelStart": {says("x")},
		"*agent.TextDelta":  {shows("a", shows("b", breaks(nil)))},
		"*agent.ModelEnd":   {says("x")},
		"*agent.ToolEnd":    {uses(toolCall("a", "x", "{}"), toolCall("b", "x", "{}"))},
		"*agent.TurnEnd":    {uses(toolCall("a", "x", "{}"))},
		"*agent.Output":     {says("x")},
	} {
		synctestRun(t, stage, func(t *testing.T) { // fails when a goroutine is left
			for e := range each(t, newAgent(t, play(steps...).streaming(), nil).Events(t.Context(), human("go"))) {
				if fmt.Sprintf("%T", e) == stage {
					return
				}
			}
			t.Fatal("the stage was never reached")
		})
	}
}

func TestPanicInTheBodyEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() { check.Equal[any](t, "the panic of the body", recover(), "mine") }()
		for range newAgent(t, play(says("x")), nil).Events(t.Context(), human("go")) {
			panic("mine")
		}
	})
}

func TestCancelDuringModelCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan struct{})
		go func() { <-started; cancel() }()
		got, err := newAgent(t, play(uses(toolCall("a", "x", "{}")), hangs(started)), nil).Run(ctx, human("go"))
		check.Is(t, err, context.Canceled)
		// The turn before is kept: call and result.
		check.Same(t, "messages, turns and stop reason", []any{len(got.Messages), got.Usage.Turns, got.StopReason}, []any{3, 1, agent.StopReason("")})
	})
}

func TestModelErrors(t *testing.T) {
	down := errors.New("quota used up")
	for name, test := range map[string]struct {
		step step
		is   error
		text string
	}{
		"error":        {breaks(down), down, "run agent: call model: quota used up"},
		"nil response": {breaks(nil), agent.ErrNoOutput, "ended without a reply"},
		"nothing":      {changed(says(""), func(r *model.Response) { *r = model.Response{} }), agent.ErrNoOutput, `stopped with ""`},
		"nothing said": {changed(says(" \n"), func(r *model.Response) { r.Finish = model.FinishLength }), agent.ErrNoOutput, `raise Model.MaxTokens`},
		"goexit":       {changed(says(""), func(*model.Response) { runtime.Goexit() }), nil, "ended the goroutine of the run"},
	} {
		_, err := newAgent(t, play(test.step), nil).Run(t.Context(), human("go"))
		check.Text(t, err, test.text, name)
		check.Equal(t, name+": is the error of the model", test.is == nil || errors.Is(err, test.is), true)
	}
}

// The error of a panic has the stack for a log, and not in its text.
func TestPanicHasItsStack(t *testing.T) {
	_, err := newAgent(t, play(func(context.Context, prompt) (*model.Response, error) { panic("broken model") }), nil).Run(t.Context(), human("go"))
	p, ok := errors.AsType[*bound.PanicError](err)
	check.That(t, ok && p.Value == "broken model" && strings.Contains(string(p.Stack), "TestPanicHasItsStack") && err.Error() == "run agent: call model: model panicked: broken model",
		"got %v, want a panic with its stack beside the text", err)
}

// An option of a run that makes no sense is refused by its own name, before anything of the run exists.
func TestRunRefusesMistakes(t *testing.T) {
	store := record.NewMemory()
	for want, option := range map[string]agent.RunOption{
		"run agent: WithLimits: Limits.Parallel and Limits.Depth must be positive, or 0 for their defaults": agent.WithLimits(run.Limits{Depth: -1}),
		"run agent: WithLimits: Limits.Depth is 33, and may be 32 at most":                                  agent.WithLimits(run.Limits{Depth: 33}),
		`run agent: WithLimits: Limits.Cost of "USD" is -1; give a positive value, or 0 for no cost at all`: agent.WithLimits(run.Limits{Cost: map[string]int64{"USD": -1}}),
		`run agent: WithVar: the value of "lang" is not valid JSON`:                                         agent.WithVar("lang", json.RawMessage("de")),
		`run agent: WithVar: the value of "empty" is not valid JSON`:                                        agent.WithVar("empty", json.RawMessage{}),
	} {
		model := play(says("x"))
		a := newAgent(t, model, &agent.Options{Durable: agent.Durable{Store: store}})
		check.Equal(t, "error", fmt.Sprint(check.Err(a.Run(t.Context(), human("go"), agent.WithRun("chat"), option))), want)
		check.Equal(t, "calls of the model", len(model.prompts()), 0)
	}
	check.Is(t, check.Err(store.Load(t.Context(), run.Key{ID: "chat"})), record.ErrNotFound)
	mustRun(t, newAgent(t, play(says("x")), nil), human("go"), agent.WithVar("unset", nil))
}

func TestNewRefusesMistakes(t *testing.T) {
	for name, opts := range map[string]*agent.Options{
		"Limits.Parallel":    {Limits: run.Limits{Parallel: -1}},
		"Limits.Depth":       {Limits: run.Limits{Depth: -1}},
		"Limits.Cost":        {Limits: run.Limits{Cost: map[string]int64{"USD": -1}}},
		"LeaseTTL":           {Durable: agent.Durable{LeaseTTL: -1}},
		"Durable.Store":      {Durable: agent.Durable{Store: (*emptyLogs)(nil)}},
		"Model.MaxTokens":    {Model: agent.ModelSettings{MaxTokens: -1}},
		"Discover.Threshold": {Discover: agent.Discover{Threshold: 1.5}},
		"Tools[1]":           {Tools: []adapter.Source{new(adapter.Toolset), (*adapter.Toolset)(nil)}},
	} {
		check.Text(t, check.Err(agent.New(play(says("x")), opts)), name)
	}
	check.Fails(t, check.Err(agent.New(nil, nil)), "a nil model")
	const want = "new agent: model is a nil *openaimodel.Model: check the error of its constructor"
	check.Equal(t, "a nil pointer", fmt.Sprint(check.Err(agent.New((*openaimodel.Model)(nil), nil))), want)
}

// A number that is 0 has its default, and a negative one is no limit, or none of what the option is
// for. [TestNewRefusesMistakes] has those that no run can do without.
func TestNumbers(t *testing.T) {
	for name, tt := range map[string]struct {
		zero, negative agent.Options
		calls          int              // that the model makes
		stop           agent.StopReason // of zero
	}{
		"Limits.Turns":       {agent.Options{}, agent.Options{Limits: run.Limits{Turns: -1}}, 21, agent.StopMaxTurns},
		"Limits.Calls":       {agent.Options{Limits: run.Limits{Turns: -1}}, agent.Options{Limits: run.Limits{Turns: -1, Calls: -1}}, 101, agent.StopMaxToolCalls},
		"Limits.Tokens":      {agent.Options{}, agent.Options{Limits: run.Limits{Tokens: -1}}, 1, agent.StopOutput},
		"Limits.Active":      {agent.Options{}, agent.Options{Limits: run.Limits{Active: -time.Hour}}, 1, agent.StopOutput},
		"Person.QuestionTTL": {agent.Options{}, agent.Options{Person: agent.Person{QuestionTTL: -time.Hour}}, 1, agent.StopOutput},
		"Durable.ResultTokens": {agent.Options{Durable: agent.Durable{Store: record.NewMemory()}},
			agent.Options{Durable: agent.Durable{Store: record.NewMemory(), ResultTokens: -1}}, 1, agent.StopOutput},
	} {
		t.Run(name, func(t *testing.T) {
			asks := func(ctx context.Context, p prompt) (*model.Response, error) {
				if p.Request.ToolChoice == model.ChoiceNone || (len(p.Request.Messages)+1)/2 > tt.calls {
					return says("done")(ctx, p)
				}
				return uses(toolCall("1", "fast", "{}"))(ctx, p)
			}
			fast := adapter.Func("fast", "", func(context.Context, struct{}) (string, error) { return "ok", nil }, nil)
			for kind, opts := range map[string]*agent.Options{"0": &tt.zero, "negative": &tt.negative} {
				opts.Tools = []adapter.Source{fast}
				want := map[string]agent.StopReason{"0": tt.stop, "negative": agent.StopOutput}[kind]
				check.Equal(t, kind+": the run stops for", mustRun(t, newAgent(t, play(asks), opts), human("go")).StopReason, want)
			}
		})
	}
}

func TestCallerKeepsItsMessages(t *testing.T) {
	messages := slices.Grow(human("go"), 10)
	mustRun(t, newAgent(t, play(says("x")), nil), messages)
	check.Equal(t, "what the run wrote into the caller's array", messages[:2][1].Role, "")
}

func TestAgentKeepsItsOptions(t *testing.T) {
	m := play(says("x"))
	fails := agent.Hook{BeforeModel: func(context.Context, *agent.State, *model.Request) error { return errors.New("another hook") }}
	opts := &agent.Options{Model: agent.ModelSettings{Effort: "low"}, Hooks: make([]agent.Hook, 1)}
	a := newAgent(t, m, opts)
	opts.Model.Effort, opts.Hooks[0] = "high", fails
	mustRun(t, a, human("go"))
	check.Equal(t, "effort", m.prompts()[0].Request.Effort, "low")
}

func TestRunKeepsItsLimits(t *testing.T) {
	limits := run.Limits{Cost: map[string]int64{"USD": 1_000_000}}
	model := play(func(ctx context.Context, p prompt) (*model.Response, error) {
		limits.Cost["USD"] = 0
		return costly(ctx, p)
	}, counted(says("done"))).called("m-1")
	a := newAgent(t, model, &agent.Options{Model: agent.ModelSettings{Prices: prices}})
	check.Equal(t, "stop reason", mustRun(t, a, human("go"), agent.WithLimits(limits)).StopReason, agent.StopOutput)
}

// The errors that a user meets first say each thing once, whichever store has the run.
func TestErrorTexts(t *testing.T) {
	for name, store := range map[string]record.Store{"memory": record.NewMemory(), "files": filesIn(t, t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			a, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`)), says("done")), agent.Options{Person: agent.Person{Approve: agent.AskPerson}})
			ask := asks(t, a, 1, run.QuestionApproval).Questions[0]
			none, other := run.Key{ID: "none"}, newAgent(t, play(says("x")), &agent.Options{Name: "other", Durable: agent.Durable{Store: store}})
			otherReply, otherResume := other.Reply(ctx, theRun, ask.Deny("")), check.Err(other.Resume(ctx, theRun, ask.Deny("")))
			check.Must(t, a.Reply(ctx, theRun, ask.Allow())) // it is the first
			begun(t, a, agent.WithRun("begun"))
			unkept := newAgent(t, play(says("x")), nil)
			for _, tt := range []struct {
				name string
				got  error
				want string
			}{
				{"prices", check.Err(agent.New(play(), &agent.Options{Model: agent.ModelSettings{Prices: &price.Table{Models: []price.Price{{Model: "m"}}}}})),
					`new agent: options: Model.Prices: date is "", want a day such as "2026-11-22": prices change`},
				{"price", check.Err(agent.New(play(), &agent.Options{Model: agent.ModelSettings{Prices: &price.Table{Date: "2026-11-22", Models: []price.Price{{Model: "m"}}}}})),
					`new agent: options: Model.Prices: model 0, "m": currency is "", want a code of three letters such as "USD"`},

				{"silent model", check.Err(newAgent(t, play(says("")), nil).Run(ctx, human("go"))),
					`run agent: turn 1: model gave no output: neither text nor tool calls (it stopped with "stop", the run with "answer")`},
				{"no messages", check.Err(unkept.Run(ctx, nil)), `run agent: there are no messages; give at least one`},
				{"id without a store", check.Err(unkept.Run(ctx, human("go"), agent.WithRun("r"))), `run agent: WithRun needs Options.Durable.Store`},
				{"empty id", check.Err(a.Run(ctx, human("go"), agent.WithRun(""))), `run agent: WithRun: id is empty`},
				{"failing model", check.Err(newAgent(t, play(breaks(errors.New("no key"))), nil).Run(ctx, human("go"))),
					`run agent: call model: no key`},
				{"no struct", errorOf3(agent.RunAs[int](ctx, unkept, human("go"))),
					`run agent: a structured answer is a struct or a map, not int: make it a field of a struct`},
				{"no schema", errorOf3(agent.RunAs[struct{ C chan int }](ctx, unkept, human("go"))),
					`run agent: a structured answer: schema of struct { C chan int }: field C: chan int has no JSON`},

				{"Run, waiting", check.Err(a.Run(ctx, human("go"), agent.WithRun(theRun.ID))), `run agent: "r" waits for answers to its questions`},
				{"Run, running", check.Err(a.Run(ctx, human("go"), agent.WithRun("begun"))),
					`run agent: input for "begun": run has no answer yet; continue it by Resume or Recover`},
				{"Run, once", check.Err(a.Run(ctx, human("go"), agent.WithRun(theRun.ID), agent.WithNewRun())),
					`run agent: create run "r": run already exists`},

				{"Resume, none", check.Err(a.Resume(ctx, none)), `run agent: load run "none": not found`},
				{"Cancel, none", check.Err(a.Cancel(ctx, none)), `cancel: load run "none": not found`},
				{"Advance, none", check.Err(a.Advance(ctx, none, nil)), `advance: load run "none": not found`},
				{"Asks, none", check.Err(a.Questions(ctx, none)), `read questions: load run "none": not found`},
				{"Answer, none", a.Reply(ctx, none, ask.Allow()), `load run "none": not found`},
				{"Replay, none", replayed(t, a, none), `replay: load run "none": not found`},

				{"Resume, other", check.Err(other.Resume(ctx, theRun)), `run agent: load run "r": it belongs to agent "agent", and this is "other"`},
				{"Resume with an answer, other", otherResume, `run agent: load run "r": it belongs to agent "agent", and this is "other"`},
				{"Cancel, other", check.Err(other.Cancel(ctx, theRun)), `cancel: load run "r": it belongs to agent "agent", and this is "other"`},
				{"Replay, other", replayed(t, other, theRun), `replay: load run "r": it belongs to agent "agent", and this is "other"`},
				{"Asks, other", check.Err(other.Questions(ctx, theRun)),
					`read questions: load run "r": it belongs to agent "agent", and this is "other"`},
				{"Answer, other", otherReply, `load run "r": it belongs to agent "agent", and this is "other"`},

				{"Resume, no store", check.Err(unkept.Resume(ctx, theRun)), `run agent: agent has no Options.Durable.Store`},
				{"Answer, no store", unkept.Reply(ctx, theRun, ask.Allow()), `answer questions: agent has no Options.Durable.Store`},
				{"Replay, no store", replayed(t, unkept, theRun), `replay: agent has no Options.Durable.Store`},

				{"not asked", a.Reply(ctx, theRun, run.Reply{Question: "x", Action: run.ActionAllow}),
					`answer question "x" of run "r": question is not open`},
				{"not asked, Resume", check.Err(a.Resume(ctx, theRun, run.Reply{Question: "x", Action: run.ActionAllow})),
					`run agent: answer question "x" of run "r": question is not open`},
				{"unfit", a.Reply(ctx, theRun, run.Reply{Question: ask.ID, Action: run.ActionAccept}),
					`answer question "` + ask.ID + `": a question of kind "approval" takes ["allow" "deny"] and not "accept": answer does not fit`},
				{"answered", a.Reply(ctx, theRun, ask.Deny("")), `answer question "` + ask.ID + `" of run "r": question already has another answer`},
				{"answered, Resume", check.Err(a.Resume(ctx, theRun, ask.Deny(""))),
					`run agent: answer question "` + ask.ID + `" of run "r": question already has another answer`},
			} {
				check.Equal(t, tt.name, fmt.Sprint(tt.got), tt.want)
			}
			check.Is(t, check.Err(a.Run(ctx, human("go"), agent.WithRun("begun"))), agent.ErrUnfinished)
			check.Is(t, replayed(t, a, none), record.ErrNotFound)
		})
	}
}

// replayed is the error of a replay that has nothing else.
func replayed(t *testing.T, a *agent.Agent, key run.Key) (failed error) {
	t.Helper()
	n := 0
	for e, err := range a.Replay(t.Context(), key, agent.Position{}) {
		check.Equal(t, "event", e, nil)
		n, failed = n+1, err
	}
	check.Equal(t, "errors", n, 1)
	return failed
}

// A run that cannot pay for an answer says which limit stops it, how much of it was used, and what a call takes.
func TestLimitText(t *testing.T) {
	ctx := t.Context()
	helper := func(o *agent.Options) adapter.Source {
		return sub(t, newAgent(t, play(counted(says("found"))), o), agent.NewSubAgent)
	}
	asksHelper := counted(uses(toolCall("1", "helper", `{"task":"`+strings.Repeat("find it ", 300)+`"}`)))
	ofHelper := func(lead *agent.Options, sub *agent.Options) string {
		lead.Tools = []adapter.Source{helper(sub)}
		got, _ := newAgent(t, play(asksHelper, counted(says("done"))), lead).Run(ctx, human("go"))
		return fmt.Sprint(got.Warnings)
	}
	for _, tt := range []struct{ name, got, want string }{
		{"tokens", check.Err(newAgent(t, play(says("x")), &agent.Options{Limits: run.Limits{Tokens: 50}}).Run(ctx, human("go"))).Error(),
			`run agent: too little of a limit is left for an answer: of 50 tokens (Limits.Tokens) 0 are used or reserved, and a call with about 35 tokens of input takes at least 99`},
		{"cost", check.Err(newAgent(t, play(costly).called("m-1"), &agent.Options{
			Limits: run.Limits{Cost: map[string]int64{"USD": 100}}, Model: agent.ModelSettings{Prices: prices},
		}).Run(ctx, human("go"))).Error(),
			`run agent: too little of a limit is left for an answer: of 0.0001 USD (Limits.Cost) 0 USD are used or reserved, and a call with about 35 tokens of input takes at least 0.000163 USD`},
		{"a sub-agent's own", ofHelper(&agent.Options{}, &agent.Options{Name: "digger", Limits: run.Limits{Tokens: 500}}),
			`[the agent helper failed: too little of a limit is left for an answer: of 500 tokens (Limits.Tokens of the sub-agent "digger") 0 are used or reserved, and a call with about 793 tokens of input takes at least 857]`},
		{"that of the agent above", ofHelper(&agent.Options{Limits: run.Limits{Tokens: 1250}}, nil),
			`[the agent helper failed: too little of a limit is left for an answer: of 1250 tokens (Limits.Tokens) 150 are used or reserved, some are kept for the answer of the agent above, and a call with about 793 tokens of input takes at least 857]`},
	} {
		check.Equal(t, tt.name, tt.got, tt.want)
	}
}

// A warning prints as its text, also among others.
func TestWarningAsText(t *testing.T) {
	got := &agent.Result{Warnings: []*agent.Warning{{Text: "one"}, {EventInfo: agent.EventInfo{Path: []string{"helper"}}, Text: "the agent helper failed"}}}
	check.Equal(t, "texts", fmt.Sprint(got.Warnings[1], got.Warnings), "the agent helper failed [one the agent helper failed]")
}

// A run that is held says by which process, until when, and what helps.
func TestHeldText(t *testing.T) {
	for name, store := range map[string]record.Store{"memory": record.NewMemory(), "files": filesIn(t, t.TempDir())} {
		a := newAgent(t, play(says("x")), &agent.Options{Durable: agent.Durable{Store: store}})
		key := begun(t, a)
		begun := time.Now()
		check.Must(t, check.Err(store.Acquire(t.Context(), key, record.Holder{Name: "host/17", TTL: time.Hour})))
		_, err := a.Resume(t.Context(), key)
		held, ok := errors.AsType[*record.HeldError](err)
		if !ok || !errors.Is(err, record.ErrHeld) || held.Until.Before(begun.Add(time.Hour)) {
			t.Errorf("%s: got %v, want a HeldError for an hour", name, err)
			continue
		}
		want := fmt.Sprintf(`run agent: acquire run %q: the process "host/17" holds the run until %s, and longer while it works on it: try again then, or have agent.Recover continue the run`,
			key.ID, held.Until.UTC().Format(time.RFC3339))
		check.Equal(t, name, err.Error(), want)
	}
}
