package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
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

func (o *observer) Execute(ctx context.Context, v *agent.Execution) (context.Context, func(error)) {
	o.executions = append(o.executions, v)
	return o.in(ctx, "/execute")
}

// An observer sees each piece of work with its end, and the work has its context.
func TestObserver(t *testing.T) {
	var contexts []string
	where := func(ctx context.Context) {
		at, _ := ctx.Value(under{}).(string)
		contexts = append(contexts, at)
	}
	wrap := func(next step) step {
		return func(ctx context.Context, p prompt) (*model.Response, error) {
			where(ctx)
			return next(ctx, p)
		}
	}
	tool := adapter.Func("tool", "Does it.", func(ctx context.Context, _ struct{}) (string, error) {
		where(ctx)
		return "ok", nil
	}, nil)
	o := &observer{trace: map[string]string{"traceparent": "x"}}
	store := record.NewMemory()
	a := newAgent(t, play(wrap(uses(toolCall("1", "tool", `{}`))), wrap(says("done"))).as(model.Info{Name: "m", Provider: "acme", Whole: true}), &agent.Options{
		Name: "boss", Version: "v7", System: "Be brief.", Durable: agent.Durable{Store: store}, Observe: o, Tools: []adapter.Source{tool},
		Hooks: []agent.Hook{{BeforeTool: func(ctx context.Context, _ *agent.State, _ *agent.ToolCall) error { where(ctx); return nil }}},
	})
	result := mustRun(t, a, human("go"), agent.In(theRun.ID))
	diff(t, "contexts", contexts, []string{"/invoke/infer", "/invoke", "/invoke/execute", "/invoke/infer"})
	diff(t, "the run's trace and revision", []any{agent.Inside(result.State).Trace, agent.Inside(result.State).Agent.Rev}, []any{o.trace, "v7"})
	if len(o.invocations) != 1 || len(o.inferences) != 2 || len(o.executions) != 1 || len(o.errs) != 4 {
		t.Fatalf("got %+v", o)
	}
	v := o.invocations[0]
	if v.Run != theRun.ID || v.Agent != "boss" || v.Version != "v7" || v.Model != "m" || v.System != "Be brief." || len(v.History) != 1 ||
		v.Before != nil || v.Status != run.StatusFinished || v.Output == nil || v.Output.Text() != "done" || v.Finish != "stop" {
		t.Errorf("got the invocation %+v", v)
	}
	i := o.inferences[1]
	if i.Turn != 2 || i.Provider != "acme" || i.Request.System != "Be brief." || len(i.Request.Messages) != 3 || len(i.Request.Tools) != 1 || i.Response == nil || i.Response.Text() != "done" || i.Request.Stream {
		t.Errorf("got the inference %+v", i)
	}
	e := o.executions[0]
	if e.ID != "1" || e.Name != "tool" || e.Description != "Does it." || e.Result == nil || e.Result.Text != "ok" {
		t.Errorf("got the execution %+v", e)
	}
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
		"stopped": {func(context.Context, *agent.State, *run.Message) error { return agent.Stop("enough") }, "enough", false},
		"failed":  {func(context.Context, *agent.State, *run.Message) error { return errors.New("no") }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			o := &observer{}
			a := newAgent(t, play(counted(says("secret"))), &agent.Options{Hooks: []agent.Hook{{AfterModel: tt.hook}}, Observe: o})
			if _, err := a.Run(t.Context(), human("go")); (err != nil) != tt.fails {
				t.Fatalf("got %v", err)
			}
			i := o.inferences[0]
			if (i.Response == nil) != tt.fails || i.Response != nil && i.Response.Text() != tt.want {
				t.Errorf("got the reply %+v, want %q", i.Response, tt.want)
			}
			if failed := o.errs[0] != nil; failed != tt.fails || i.Usage.Total != 150 {
				t.Errorf("got %v and %+v, want 150 tokens", o.errs[0], i.Usage)
			}
		})
	}
}

// A panic of the model ends all that is observed.
func TestObserverOfAPanic(t *testing.T) {
	o := &observer{}
	a := newAgent(t, play(func(context.Context, prompt) (*model.Response, error) { panic("boom") }), &agent.Options{Observe: o})
	if _, err := a.Run(t.Context(), human("go")); err == nil {
		t.Fatal("the run has no error")
	}
	if len(o.errs) != 2 || o.errs[0] == nil || o.errs[1] == nil {
		t.Errorf("got the ends %v, want two errors", o.errs)
	}
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
		m, err := openaimodel.New(openai.ClientConfig{BaseURL: url}, "m", nil)
		check(t, err)
		if got := m.Info().Provider; got != want {
			t.Errorf("%s: got the provider %q, want %q", url, got, want)
		}
	}
	o := &observer{}
	mustRun(t, newAgent(t, play(says("x")), &agent.Options{Observe: o}), human("go"))
	if got := o.inferences[0].Provider; got != "unknown" {
		t.Errorf("got the provider %q of a model that names none", got)
	}
}
