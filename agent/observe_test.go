package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// observer keeps what it sees, and answers instead of work that fails.
type observer struct {
	invocations []*agent.Invocation
	inferences  []*agent.Inference
	executions  []*agent.Execution
	errs        []error
	trace       map[string]string
}

// under is the key of a context value that says what the work is under.
type under struct{}

func (o *observer) in(ctx context.Context, what string) (context.Context, func(error)) {
	above, _ := ctx.Value(under{}).(string)
	return context.WithValue(ctx, under{}, above+what), func(err error) { o.errs = append(o.errs, err) }
}

func (o *observer) Invoke(ctx context.Context, v *agent.Invocation) (context.Context, func(error)) {
	o.invocations, v.Trace = append(o.invocations, v), o.trace
	return o.in(ctx, "/invoke")
}

func (o *observer) Infer(ctx context.Context, v *agent.Inference) (context.Context, func(error)) {
	o.inferences = append(o.inferences, v)
	return o.in(ctx, "/infer")
}

func (o *observer) Appended(context.Context, time.Duration, error) {}

func (o *observer) Execute(ctx context.Context, v *agent.Execution) (context.Context, func(error)) {
	o.executions = append(o.executions, v)
	return o.in(ctx, "/execute")
}

// What an observer adds to the trace of earlier work is stored, too.
func TestObserverAddsToTheTrace(t *testing.T) {
	o := &adding{}
	a := newAgent(t, play(says("one"), says("two"), says("three")), &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}, Observer: o})
	var got *agent.Result
	for range 3 {
		got = mustRun(t, a, human("go"), agent.WithRun(theRun.ID))
	}
	check.Same(t, "trace", agent.Inside(got.State).Trace, map[string]string{"1": "", "2": "", "3": ""})
}

// adding adds a number to the trace, for each work on a run.
type adding struct{ observer }

func (o *adding) Invoke(ctx context.Context, v *agent.Invocation) (context.Context, func(error)) {
	if v.Trace == nil {
		v.Trace = map[string]string{}
	}
	v.Trace[fmt.Sprint(len(v.Trace)+1)] = ""
	return o.in(ctx, "/invoke")
}

// An observer sees each piece of work with its end, and the work has its context.
func TestObserver(t *testing.T) {
	var contexts []string
	where := func(ctx context.Context) {
		at, _ := ctx.Value(under{}).(string)
		contexts = append(contexts, at)
	}
	wrap := func(next step) step {
		return func(ctx context.Context, p prompt) (*model.Response, error) { where(ctx); return next(ctx, p) }
	}
	tool := adapter.Func("tool", "Does it.", func(ctx context.Context, _ struct{}) (string, error) {
		where(ctx)
		return "ok", nil
	}, nil)
	o := &observer{trace: map[string]string{"traceparent": "x"}}
	a := newAgent(t, play(wrap(uses(toolCall("1", "tool", `{}`))), wrap(says("done"))).as(model.Info{Name: "m", Provider: "acme", NoStreaming: true}), &agent.Options{
		Name: "boss", System: "Be brief.", Durable: agent.Durable{Store: record.NewMemory()}, Observer: o, Tools: []adapter.Source{tool},
		Hooks: []agent.Hook{{BeforeTool: func(ctx context.Context, _ *agent.State, _ *agent.Call) error { where(ctx); return nil }}},
	})
	result := mustRun(t, a, human("go"), agent.WithRun(theRun.ID))
	check.Same(t, "contexts", contexts, []string{"/invoke/infer", "/invoke", "/invoke/execute", "/invoke/infer"})
	check.Same(t, "the run's trace", agent.Inside(result.State).Trace, o.trace)
	check.Require(t, len(o.invocations) == 1 && len(o.inferences) == 2 && len(o.executions) == 1 && len(o.errs) == 4, "got %+v", o)
	v := o.invocations[0]
	check.That(t, v.Run == theRun.ID && v.Agent == "boss" && v.Model == "m" && v.System == "Be brief." && len(v.History) == 1 && v.Output != nil && v.Output.Text() == "done",
		"got the invocation %+v", v)
	i := o.inferences[1]
	check.That(t, i.Info.Provider == "acme" && i.Request.System == "Be brief." && len(i.Request.Messages) == 3 && len(i.Request.Tools) == 1 && i.Response != nil && i.Response.Message.Text() == "done" && !i.Request.Stream,
		"got the inference %+v", i)
	e := o.executions[0]
	check.That(t, e.ID == "1" && e.Name == "tool" && e.Description == "Does it." && e.Result != nil && e.Result.Text == "ok",
		"got the execution %+v", e)
}

// The output of a run is the model's or a hook's, and never an input or the result of a call.
func TestObserverGetsTheOutput(t *testing.T) {
	o := &observer{}
	opts := &agent.Options{Observer: o}
	check.Must(t, errorOf3(agent.RunAs[weatherReport](t.Context(), newAgent(t, play(uses(toolCall("1", "final_answer", `{"city":"Oslo","degree":7}`))), opts), human("go"))))
	opts.Hooks = []agent.Hook{{BeforeModel: func(context.Context, *agent.State, *model.Request) error { return agent.StopRun("") }}}
	mustRun(t, newAgent(t, play(), opts), human("go"))
	first, second := o.invocations[0].Output, o.invocations[1].Output
	check.That(t, first != nil && first.Role == run.RoleAssistant && first.Text() == `{"city":"Oslo","degree":7}` && second == nil, "got %+v and %+v", first, second)
}

// An observer gets a reply as the AfterModel hooks leave it, and none that a hook refuses.
func TestObserverGetsTheReplyOfHooks(t *testing.T) {
	redact := func(_ context.Context, _ *agent.State, reply *run.Message) error {
		reply.Parts[0].Text = "redacted"
		return nil
	}
	for name, tt := range map[string]struct {
		hook  func(context.Context, *agent.State, *run.Message) error
		want  string
		fails bool
	}{
		"changed": {redact, "redacted", false},
		"stopped": {func(context.Context, *agent.State, *run.Message) error { return agent.StopRun("enough") }, "enough", false},
		"failed":  {func(context.Context, *agent.State, *run.Message) error { return errors.New("no") }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			o := &observer{}
			a := newAgent(t, play(counted(says("secret"))), &agent.Options{Hooks: []agent.Hook{{AfterModel: tt.hook}}, Observer: o})
			check.Equal(t, "the run fails", check.Err(a.Run(t.Context(), human("go"))) != nil, tt.fails)
			i := o.inferences[0]
			check.Equal(t, "reply", i.Response.Message.Text(), tt.want)
			check.Same(t, "failure and tokens", []any{o.errs[0] != nil, i.Response.Usage.Total}, []any{tt.fails, int64(150)})
		})
	}
}

// A panic of the model ends all that is observed.
func TestObserverOfAPanic(t *testing.T) {
	o := &observer{}
	a := newAgent(t, play(func(context.Context, prompt) (*model.Response, error) { panic("boom") }), &agent.Options{Observer: o})
	check.Fails(t, check.Err(a.Run(t.Context(), human("go"))))
	check.That(t, len(o.errs) == 2 && o.errs[0] != nil && o.errs[1] != nil, "got the ends %v, want two errors", o.errs)
}

// A provider has the name of OpenTelemetry's conventions, by the model's host.
func TestProvider(t *testing.T) {
	for url, want := range map[string]string{
		"https://api.openai.com/v1":                               "openai",
		"https://api.deepseek.com":                                "deepseek",
		"https://api.mistral.ai/v1":                               "mistral_ai",
		"https://api.moonshot.ai/v1":                              "moonshot_ai",
		"https://x.openai.azure.com":                              "azure.ai.openai",
		"https://generativelanguage.googleapis.com/v1beta/openai": "gcp.gemini",
		"https://models.example.com/v1":                           "openai",
	} {
		check.Equal(t, url, check.Value(openaimodel.New(openai.ClientConfig{BaseURL: url}, "m", nil))(t).Info().Provider, want)
	}
}

//lint:file-ignore SA1019 sampling is deprecated, but servers use it

// everyEvent has each type of event, with all members.
func everyEvent() []agent.Event {
	at := time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)
	meta := agent.EventInfo{Run: "r", Seq: 7, Time: at, Path: []string{"helper"}}
	call := agent.Call{Turn: 1, ID: "1", Name: "box_echo", Arguments: `{"x":1}`, Server: "box", Tool: "echo"}
	ask := &run.Question{ID: "ask_7", Kind: run.QuestionApproval, Call: "1", Server: "box", Tool: "box_echo", Path: []string{"helper"}, Arguments: []byte(`{"x":1}`), Survives: true, Created: at, Expires: at}
	answer := run.Reply{Question: "ask_7", Action: run.ActionDeny, Reason: "no", By: "Ann", At: at}
	part := run.Part{Type: run.PartCall, ID: "1", Name: "box_echo", Arguments: `{"x":1}`}
	result := run.Part{Type: run.PartResult, ID: "1", Name: "box_echo", Text: "1", Structured: []byte(`{"x":1}`), IsError: true}
	spent := run.Usage{Turns: 1, Calls: 1, Input: 3, Output: 2, Cost: map[string]int64{"USD": 5}}
	sampled := run.Usage{Input: 3, Total: 3}
	sampled.Sampling.Requests, sampled.Sampling.Tokens = 1, 3
	question := &mcp.ElicitParams{Mode: mcp.ElicitForm, Message: "who?"}
	sampling := &mcp.CreateMessageParams{MaxTokens: 10, Messages: []mcp.SamplingMessage{}}
	return []agent.Event{
		&agent.ModelStart{EventInfo: meta, Turn: 1},
		&agent.ReasoningDelta{EventInfo: meta, Text: "hm"},
		&agent.TextDelta{EventInfo: meta, Text: "hi"},
		&agent.ModelEnd{EventInfo: meta, Model: "m", Text: "hi", Reasoning: "hm", ToolCalls: []run.Part{part}, FinishReason: "stop", Usage: spent, Streamed: true,
			Window: &agent.WindowUse{Size: 8, Servers: []agent.ServerTools{{Server: "box", Tools: 1, Tokens: 2}}, Input: 3}},
		&agent.ApprovalDecided{EventInfo: meta, Call: call, Decision: approval.Decision{Allow: true, Arguments: []byte(`{"x":2}`), Remember: approval.ScopeTool}},
		&agent.ToolStart{EventInfo: meta, Call: call},
		&agent.ToolProgress{EventInfo: meta, Call: call, Progress: mcp.Progress{Progress: 1, Message: "half"}},
		&agent.ToolEnd{EventInfo: meta, Call: call, Part: result, Duration: 5},
		&agent.Asked{EventInfo: meta, Question: ask},
		&agent.Replied{EventInfo: meta, Question: ask, Reply: answer},
		&agent.Elicited{EventInfo: meta, Server: "box", Call: &call, Params: question, Result: &mcp.ElicitResult{Action: mcp.ElicitDecline}, Err: errors.New("no form")},
		&agent.Sampled{EventInfo: meta, Server: "box", Call: &call, Params: sampling, Usage: sampled, Err: errors.New("no model")},
		&agent.Compacted{EventInfo: meta, Replaced: 4},
		&agent.Warning{EventInfo: meta, Text: "careful"},
		&agent.TurnEnd{EventInfo: meta, Messages: []run.Message{{Role: run.RoleTool, Parts: []run.Part{result}, Model: "m", At: at}}},
		&agent.Suspended{EventInfo: meta, Questions: []*run.Question{ask}},
		&agent.Output{EventInfo: meta, Text: "hi", StopReason: agent.StopOutput, FinishReason: "stop"},
	}
}

// A position goes to a page and back as text.
func TestPositionAsText(t *testing.T) {
	for text, want := range map[string]agent.Position{"": {}, "17": {Seq: 17}, "17.2": {Seq: 17, More: 2}} {
		got, err := agent.ParsePosition(text)
		check.That(t, err == nil && got == want && (text == "" || got.String() == text), "%q: got %v, %v, want %v", text, got, err, want)
	}
	for _, text := range []string{"x", "17.", "17.0", ".2", "-1", "+1", "017", "1.2.3", "1.99999999999", "99999999999999999999"} {
		got, err := agent.ParsePosition(text)
		check.That(t, err != nil && got == (agent.Position{}), "%q: got %v, %v, want an error", text, got, err)
	}
}

// The JSON of events is for other programs: its names never change.
func TestEventsAsJSON(t *testing.T) {
	var got bytes.Buffer
	var types []string
	for _, e := range everyEvent() {
		data := check.Value(agent.MarshalEvent(e))(t)
		check.Equal(t, string(data)+" is JSON", json.Valid(data), true)
		got.Write(append(data, '\n'))
		types = append(types, agent.KindOf(e))
	}
	check.Same(t, "events", got.String(), string(check.Value(os.ReadFile("testdata/events.jsonl"))(t)))
	source := check.Value(os.ReadFile("events.go"))(t)
	var declared []string
	for _, m := range regexp.MustCompile(`kind\(\) string +{ return "(\w+)" }`).FindAllStringSubmatch(string(source), -1) {
		declared = append(declared, m[1])
	}
	slices.Sort(types)
	slices.Sort(declared)
	check.Same(t, "types of events", types, declared)
}

// What a caller does to the calls of a ModelEnd changes neither the calls nor the history.
func TestCallsOfAnEventAreACopy(t *testing.T) {
	got := ""
	work := adapter.Func("work", "", func(_ context.Context, in struct{ X string }) (string, error) {
		got = in.X
		return "ok", nil
	}, &adapter.FuncOptions{ReadOnly: true})
	a := newAgent(t, play(uses(toolCall("1", "work", `{"X":"mine"}`)), says("done")), &agent.Options{Tools: []adapter.Source{work}})
	result := &agent.Result{}
	for e := range each(t, a.Events(t.Context(), human("go"))) {
		if end, ok := e.(*agent.ModelEnd); ok {
			for i := range end.ToolCalls {
				end.ToolCalls[i] = run.Part{Type: run.PartCall, ID: "2", Name: "other", Arguments: `{"X":"theirs"}`}
			}
		}
		result.Add(e)
	}
	check.Same(t, "argument", got, "mine")
	check.Same(t, "history", lines(result.Messages), []string{`ai: 1=work({"X":"mine"})`, `tool: 1/work→"ok"`, `ai: "done"`})
}
