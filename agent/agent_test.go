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
)

func TestSystemMessages(t *testing.T) {
	model := play(says("hello"))
	messages := agent.Messages(append([]run.Message{run.Text(run.RoleSystem, "Speak French.")}, human("hi")...)...)
	got := mustRun(t, newAgent(t, model, &agent.Options{System: "Be brief."}), messages)
	diff(t, "prompt", asked(model.prompts()[0]), []string{
		`system: "Be brief."`, `system: "Speak French."`,
		`human: "hi"`,
	})
	diff(t, "history", lines(got.Messages), []string{`system: "Speak French."`, `human: "hi"`, `ai: "hello"`})
}

func TestEventsOfATurn(t *testing.T) {
	model := play(uses(toolCall("a", "nothing", `{"x":1}`)), says("sorry"))
	a := newAgent(t, model.called("m-1"), nil)
	var got []string
	for e := range each(t, a.Events(t.Context(), human("go"))) {
		got = append(got, describe(e))
	}
	diff(t, "events", got, []string{
		"turn 1: model m-1 starts with 1 messages",
		"turn 1: model m-1 ends: , 1 calls, tool_calls",
		`turn 1: tool nothing (a) ends: Error: there is no tool named "nothing". There are no tools.`,
		"turn 1: ends with 2 messages",
		"turn 2: model m-1 starts with 3 messages",
		"turn 2: model m-1 ends: sorry, 0 calls, stop",
		"turn 2: ends with 1 messages",
		"answer: sorry (answer)",
	})
}

func describe(e agent.Event) string {
	switch e := e.(type) {
	case *agent.ModelStart:
		return fmt.Sprintf("turn %d: model %s starts with %d messages", e.Turn, e.Model, e.Messages)
	case *agent.TextDelta:
		return fmt.Sprintf("turn %d: text %s", e.Turn, e.Text)
	case *agent.ModelEnd:
		return fmt.Sprintf("turn %d: model %s ends: %s, %d calls, %s", e.Turn, e.Model, e.Text, len(e.ToolCalls), e.FinishReason)
	case *agent.ApprovalAsked:
		return fmt.Sprintf("turn %d: asked about %s (%s) %s", e.Turn, e.Name, e.ID, e.Arguments)
	case *agent.ApprovalDecided:
		return fmt.Sprintf("turn %d: decided about %s (%s): %v %s", e.Turn, e.Name, e.ID, e.Decision.Allow, e.Decision.Reason)
	case *agent.ToolStart:
		return fmt.Sprintf("turn %d: tool %s (%s) starts", e.Turn, e.Name, e.ID)
	case *agent.ToolProgress:
		return fmt.Sprintf("turn %d: tool %s (%s) at %v", e.Turn, e.Name, e.ID, e.Progress.Progress)
	case *agent.ToolEnd:
		return fmt.Sprintf("turn %d: tool %s (%s) ends: %s", e.Turn, e.Name, e.ID, e.Result.Text)
	case *agent.ReplyStart:
		return fmt.Sprintf("%s asks in %s: %s", e.Question.Server, e.Question.Tool, e.Question.Elicit.Message)
	case *agent.ReplyEnd:
		if e.Err != nil {
			return "no answer: " + e.Err.Error()
		}
		if e.Reply == nil {
			return "no answer yet"
		}
		r, err := e.Question.ElicitResult(*e.Reply)
		return fmt.Sprintf("%s was answered: %s %v%v", e.Question.Server, r.Action, r.Content, or(err))
	case *agent.Suspended:
		return fmt.Sprintf("waits for %d answers", len(e.Questions))
	case *agent.ElicitationStart:
		return fmt.Sprintf("%s asks in %s: %s", e.Server, name(e.Call), e.Params.Message)
	case *agent.ElicitationEnd:
		if e.Err != nil {
			return fmt.Sprintf("%s was answered: %v", e.Server, e.Err)
		}
		return fmt.Sprintf("%s was answered: %s %v", e.Server, e.Result.Action, e.Result.Content)
	case *agent.SamplingStart:
		return fmt.Sprintf("%s samples in %s", e.Server, name(e.Call))
	case *agent.SamplingEnd:
		if e.Err != nil {
			return fmt.Sprintf("%s got no completion: %v", e.Server, e.Err)
		}
		return fmt.Sprintf("%s got a completion of %s", e.Server, e.Result.Model)
	case *agent.ServerLost:
		return fmt.Sprintf("%s is lost", e.Server)
	case *agent.TurnEnd:
		return fmt.Sprintf("turn %d: ends with %d messages", e.Turn, len(e.Messages))
	case *agent.Output:
		return fmt.Sprintf("answer: %s (%s)", e.Text, e.StopReason)
	}
	return fmt.Sprintf("%T", e)
}

// or is an error in words, if there is one.
func or(err error) string {
	if err == nil {
		return ""
	}
	return " " + err.Error()
}

func name(c *agent.Call) string {
	if c == nil {
		return "an unknown call"
	}
	return c.Tool
}

func TestAddingEventsGivesTheResult(t *testing.T) {
	stop := agent.Hook{BeforeTool: func(context.Context, *agent.State, *agent.ToolCall) error { return agent.StopRun("enough") }}
	look := adapter.Func("look", "", func(context.Context, struct{}) (string, error) { return "a tree", nil }, nil)
	for name, opts := range map[string]*agent.Options{"output": nil, "stopped": {Tools: []adapter.Source{look}, Hooks: []agent.Hook{stop}}} {
		fresh := func() *agent.Agent { return newAgent(t, play(uses(toolCall("a", "look", "{}")), says("done")), opts) }
		want := mustRun(t, fresh(), human("go"))
		got := &agent.Result{Messages: human("go")}
		for e := range each(t, fresh().Events(t.Context(), human("go"))) {
			got.Add(e)
		}
		for _, r := range []*agent.Result{got, want} {
			r.State = nil
			for i := range r.Messages {
				r.Messages[i].At = time.Time{}
			}
		}
		diff(t, name, got, want)
	}
}

func TestEveryRangeIsARun(t *testing.T) {
	model := play(says("yes"))
	events := newAgent(t, model, nil).Events(t.Context(), human("go"))
	for range 2 {
		for range each(t, events) {
		}
	}
	if got := len(model.prompts()); got != 2 {
		t.Errorf("model was called %d times, want 2", got)
	}
}

func TestLeavingTheRangeEndsTheRun(t *testing.T) {
	for stage, steps := range map[string][]step{
		"*agent.ModelStart": {says("x")},
		"*agent.TextDelta": {func(ctx context.Context, p prompt) (*model.Response, error) {
			if err := p.Stream(model.Delta{Text: "a"}); err != nil {
				return nil, err
			}
			return nil, p.Stream(model.Delta{Text: "b"})
		}},
		"*agent.ModelEnd": {says("x")},
		"*agent.ToolEnd":  {uses(toolCall("a", "x", "{}"), toolCall("b", "x", "{}"))},
		"*agent.TurnEnd":  {uses(toolCall("a", "x", "{}"))},
		"*agent.Output":   {says("x")},
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
		defer func() {
			if got := recover(); got != "mine" {
				t.Errorf("recovered %v, want the panic of the body", got)
			}
		}()
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
		model := play(uses(toolCall("a", "x", "{}")), hangs(started))
		got, err := newAgent(t, model, nil).Run(ctx, human("go"))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
		// The turn before is kept: call and result.
		if len(got.Messages) != 3 || got.Usage.Turns != 1 || got.StopReason != "" {
			t.Errorf("partial result %+v, want one turn of 3 messages and no stop reason", got)
		}
	})
}

func TestMaxDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		a := newAgent(t, play(hangs(make(chan struct{}))), &agent.Options{MaxDuration: 3 * time.Second})
		_, err := a.Run(t.Context(), human("go"))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "MaxDuration, 3s") {
			t.Errorf("error %v, want context.DeadlineExceeded that names MaxDuration", err)
		}
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("ended after %v, want 3s", d)
		}
	})
}

func TestModelErrors(t *testing.T) {
	down := errors.New("quota used up")
	for name, test := range map[string]struct {
		step step
		is   error
		text string
	}{
		"error": {
			func(context.Context, prompt) (*model.Response, error) { return nil, down },
			down, "run agent: call model: quota used up",
		},
		"nil response": {
			func(context.Context, prompt) (*model.Response, error) { return nil, nil },
			agent.ErrNoAnswer, "ended without a reply",
		},
		"nothing": {
			func(context.Context, prompt) (*model.Response, error) { return new(model.Response), nil },
			agent.ErrNoAnswer, `stopped with ""`,
		},
		"nothing said": {
			func(context.Context, prompt) (*model.Response, error) {
				return &model.Response{Message: run.Text(run.RoleAssistant, " \n"), Finish: model.FinishLength}, nil
			},
			agent.ErrNoAnswer, `stopped with "length"`,
		},
		"goexit": {
			func(context.Context, prompt) (*model.Response, error) { runtime.Goexit(); return nil, nil },
			nil, "ended the goroutine of the run",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newAgent(t, play(test.step), nil).Run(t.Context(), human("go"))
			if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v, want one with %q that is %v", err, test.text, test.is)
			}
		})
	}
}

// The error of a panic has the stack for a log, and not in its text.
func TestPanicHasItsStack(t *testing.T) {
	_, err := newAgent(t, play(func(context.Context, prompt) (*model.Response, error) { panic("broken model") }), nil).Run(t.Context(), human("go"))
	p, ok := errors.AsType[*bound.PanicError](err)
	if !ok || p.Value != "broken model" || !strings.Contains(string(p.Stack), "TestPanicHasItsStack") || err.Error() != "run agent: call model: model panicked: broken model" {
		t.Errorf("got %v, want a panic with its stack beside the text", err)
	}
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
		if err := errorOf(a.Run(t.Context(), human("go"), agent.WithRun("chat"), option)); err == nil || err.Error() != want || len(model.prompts()) > 0 {
			t.Errorf("got %v after %d model calls, want %s", err, len(model.prompts()), want)
		}
	}
	if _, err := store.Load(t.Context(), run.Key{ID: "chat"}); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("got %v, want no run", err)
	}
	a := newAgent(t, play(says("x")), nil)
	if _, err := a.Run(t.Context(), human("go"), agent.WithVar("unset", nil)); err != nil {
		t.Errorf("a variable without a value: %v", err)
	}
}

func TestNewRefusesMistakes(t *testing.T) {
	for name, opts := range map[string]*agent.Options{
		"Limits.Parallel":    {Limits: run.Limits{Parallel: -1}},
		"Limits.Depth":       {Limits: run.Limits{Depth: -1}},
		"Limits.Cost":        {Limits: run.Limits{Cost: map[string]int64{"USD": -1}}},
		"LeaseTTL":           {Durable: agent.Durable{LeaseTTL: -1}},
		"Model.MaxTokens":    {Model: agent.ModelSettings{MaxTokens: -1}},
		"Discover.Threshold": {Discover: agent.Discover{Threshold: 1.5}},
		"Tools[1]":           {Tools: []adapter.Source{new(adapter.Toolset), (*adapter.Toolset)(nil)}},
	} {
		if _, err := agent.New(play(says("x")), opts); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want one that names it", name, err)
		}
	}
	if _, err := agent.New(nil, nil); err == nil {
		t.Error("no error for a nil model")
	}
	const want = "new agent: model is a nil *openaimodel.Model: check the error of its constructor"
	if _, err := agent.New((*openaimodel.Model)(nil), nil); err == nil || err.Error() != want {
		t.Errorf("nil pointer: error %v, want %q", err, want)
	}
}

func TestCallerKeepsItsMessages(t *testing.T) {
	messages := slices.Grow(human("go"), 10)
	mustRun(t, newAgent(t, play(says("x")), nil), messages)
	if got := messages[:2][1]; got.Role != "" {
		t.Errorf("the run wrote %v into the caller's array", got)
	}
}

func TestAgentKeepsItsOptions(t *testing.T) {
	model := play(says("x"))
	fails := agent.Hook{BeforeModel: func(context.Context, *agent.State, *agent.ModelCall) error { return errors.New("another hook") }}
	opts := &agent.Options{Model: agent.ModelSettings{Effort: "low"}, Hooks: make([]agent.Hook, 1)}
	a := newAgent(t, model, opts)
	opts.Model.Effort, opts.Hooks[0] = "high", fails
	mustRun(t, a, human("go"))
	if got := model.prompts()[0].Request.Effort; got != "low" {
		t.Errorf("effort %q, want that of the options at the time of New", got)
	}
}

func TestRunKeepsItsLimits(t *testing.T) {
	limits := run.Limits{Cost: map[string]int64{"USD": 1_000_000}}
	model := play(func(ctx context.Context, p prompt) (*model.Response, error) {
		limits.Cost["USD"] = 0
		return costly(ctx, p)
	}, counted(says("done"))).called("m-1")
	a := newAgent(t, model, &agent.Options{Model: agent.ModelSettings{Prices: prices}})
	if got := mustRun(t, a, human("go"), agent.WithLimits(limits)); got.StopReason != agent.StopOutput {
		t.Errorf("stopped with %q, want the limits at the beginning of the run", got.StopReason)
	}
}
