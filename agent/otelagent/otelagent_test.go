package otelagent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/otelagent"
	runs "github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/otelmcp"
)

// What the spans of a model call have, of uses and of says.
const (
	asked    = "operation.name=chat provider.name=acme request.model=m response.finish_reasons=[tool_calls] response.model=m"
	answered = "operation.name=chat provider.name=acme request.model=m response.finish_reasons=[stop] response.id=reply-1 response.model=m-1" +
		" usage.cache_read.input_tokens=4 usage.input_tokens=7 usage.output_tokens=3 usage.reasoning.output_tokens=2"
	used = "request.model=m response.finish_reasons=[stop] usage.input_tokens=7 usage.output_tokens=3"
)

// The spans of a run with a sub-agent whose tool fails. The sub-agent has no name, and the observer of the agent above.
func TestTrace(t *testing.T) {
	r := newRecorder(t, otelagent.Options{})
	helper := (*recorder)(nil).agent(t, play(uses("1", "lookup", "{}"), says("Sunny.")), agent.Options{}, fails())
	run(t, r.agent(t, play(uses("2", "helper", `{"task":"Weather?"}`), says("Sunny.")), agent.Options{Name: "boss"}, sub(t, helper, "helper")))
	const inner = "invoke_agent boss → execute_tool helper → invoke_agent helper"
	want := []string{
		"invoke_agent boss → chat m (client, Unset): " + asked,
		inner + " → chat m (client, Unset): " + asked,
		inner + " → execute_tool lookup (internal, Error): agent.name=helper error.type=tool_error operation.name=execute_tool tool.call.id=1 tool.name=lookup tool.type=function",
		inner + " → chat m (client, Unset): " + answered,
		inner + " (internal, Unset): agent.id=helper agent.name=helper operation.name=invoke_agent " + used,
		"invoke_agent boss → execute_tool helper (internal, Unset): agent.name=boss operation.name=execute_tool tool.call.id=2 tool.name=helper tool.type=function",
		"invoke_agent boss → chat m (client, Unset): " + answered,
		"invoke_agent boss (internal, Unset): agent.id=boss agent.name=boss operation.name=invoke_agent " + used,
	}
	check.Same(t, "spans", r.lines(t), want)
	for _, s := range r.GetSpans() {
		check.Equal(t, s.Name, attributes(s.Attributes)["gen_ai.conversation.id"], "talk")
	}
	for name, want := range map[string]map[string]float64{ // sums by agent
		"gen_ai.invoke_agent.inference_calls":                    {"boss": 2, "helper": 2},
		"gen_ai.invoke_agent.tool_calls":                         {"boss": 1, "helper": 1},
		"gen_ai.client.inference.usage.input_tokens":             {"": 14},
		"gen_ai.client.inference.usage.output_tokens":            {"": 6},
		"gen_ai.client.inference.usage.cache_read.input_tokens":  {"": 8},
		"gen_ai.client.inference.usage.cache_write.input_tokens": {"": 0},
		"gen_ai.client.inference.usage.reasoning.output_tokens":  {"": 4},
		"gen_ai.client.inference.operation.input_tokens":         {"": 14},
		"gen_ai.client.inference.operation.output_tokens":        {"": 6},
	} {
		check.Same(t, name, sums(t, r.metrics(t)[name]), want)
	}
}

// sums adds up the points of a metric of whole numbers, by the names of agents.
func sums(t *testing.T, m metricdata.Metrics) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	add := func(attributes attribute.Set, value int64) {
		name, _ := attributes.Value("gen_ai.agent.name")
		out[name.AsString()] += float64(value)
	}
	switch data := m.Data.(type) {
	case metricdata.Histogram[int64]:
		for _, p := range data.DataPoints {
			add(p.Attributes, p.Sum)
		}
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			add(p.Attributes, p.Value)
		}
	default:
		t.Fatalf("%s has the data %T", m.Name, m.Data)
	}
	return out
}

// Each error of a model has its type, in the spans and in the durations.
func TestErrorTypes(t *testing.T) {
	for kind, err := range map[string]error{
		"_OTHER":      errors.New("secret"),
		"canceled":    context.Canceled,
		"timeout":     fmt.Errorf("ask: %w", context.DeadlineExceeded),
		"rate_limit":  &model.Error{Kind: model.ErrorRateLimit, Err: errors.New("secret")},
		"token_limit": fmt.Errorf("ask: %w", &model.Error{Kind: model.ErrorTooLong, Err: errors.New("secret")}),
	} {
		r := newRecorder(t, otelagent.Options{})
		run(t, r.agent(t, failing(err), agent.Options{Model: agent.ModelSettings{Retries: -1}}))
		want := []string{
			"invoke_agent → chat m (client, Error): error.type=" + kind + " operation.name=chat provider.name=acme request.model=m",
			"invoke_agent (internal, Error): error.type=" + kind + " operation.name=invoke_agent request.model=m",
		}
		check.Same(t, err, r.lines(t), want)
		m, counted := r.metrics(t)["gen_ai.client.inference.operation.input_tokens"]
		check.That(t, !counted, "%v: a call without a reply counts with the tokens %+v", err, m.Data)
		for _, name := range []string{"gen_ai.client.inference.duration", "gen_ai.invoke_agent.duration"} {
			h, ok := r.metrics(t)[name].Data.(metricdata.Histogram[float64])
			check.Require(t, ok && len(h.DataPoints) == 1, "%v: %s has the data %+v", err, name, h)
			check.Equal(t, name, attributes(h.DataPoints[0].Attributes.ToSlice())["error.type"], kind)
		}
	}
}

// A tool that is cancelled has another type than one that fails.
func TestCancelledTool(t *testing.T) {
	r := newRecorder(t, otelagent.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	hangs := adapter.Func("hang", "", func(ctx context.Context, _ struct{}) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}, nil)
	check.Is(t, check.Err(r.agent(t, play(uses("1", "hang", "{}")), agent.Options{}, hangs).Run(ctx, agent.Text("Hi"))), context.Canceled)
	for _, name := range []string{"execute_tool hang", "invoke_agent"} {
		check.Equal(t, name, attributes(r.span(t, name).Attributes)["error.type"], "canceled")
	}
}

// A call that is not sent has no span, and does not count.
func TestRefusedCallsHaveNoSpan(t *testing.T) {
	r := newRecorder(t, otelagent.Options{})
	run(t, r.agent(t, play(uses("1", "nothing", "{}"), says("No.")), agent.Options{}, fails()))
	check.Equal(t, "span", strings.Contains(strings.Join(r.lines(t), "\n"), "execute_tool"), false)
	check.Equal(t, "calls", sums(t, r.metrics(t)["gen_ai.invoke_agent.tool_calls"])[""], 0)
}

// The span of an MCP client is a child of execute_tool, and what a model does is a child of chat.
func TestNesting(t *testing.T) {
	r := newRecorder(t, otelagent.Options{})
	sent, _, err := otelmcp.New(&otelmcp.Options{TracerProvider: r.tracers})
	check.Must(t, err)
	server := sdk.NewServer(&sdk.Implementation{Name: "greeter", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "greet"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Hello."}}}, nil, nil
	})
	toolset := check.Value(adapter.Open(t.Context(), []adapter.Server{{Name: "greeter", Transport: peer.Connect(t, server)}},
		&adapter.Options{ClientOptions: &mcpclient.Options{Middleware: []mcpclient.Middleware{sent}}}))(t)
	defer toolset.Close()
	name := toolset.Catalog(profile.OpenAI).Definitions()[0].Function.Name
	run(t, r.agent(t, &asking{Model: play(uses("1", name, "{}"), says("Done.")), tracer: r.tracers.Tracer("")}, agent.Options{}, toolset))
	lines := r.lines(t)
	for _, want := range []string{"invoke_agent → execute_tool " + name + " → tools/call greet ", "invoke_agent → chat m → POST "} {
		check.That(t, slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, want) }),
			"got no span %q in\n%s", want, strings.Join(lines, "\n"))
	}
}

// asking is a model with a span of its own.
type asking struct {
	agent.Model
	tracer trace.Tracer
}

func (a *asking) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		ctx, span := a.tracer.Start(ctx, "POST")
		defer span.End()
		a.Model.Generate(ctx, r)(yield)
	}
}

// Leaving the events ends all spans.
func TestRangeThatIsLeft(t *testing.T) {
	r := newRecorder(t, otelagent.Options{})
	for range r.agent(t, play(says("Hello.")), agent.Options{}).Events(t.Context(), agent.Text("Hi")) {
		break
	}
	lines := r.lines(t)
	check.That(t, len(lines) != 0 && strings.HasPrefix(lines[len(lines)-1], "invoke_agent (internal, Error)"), "got the spans %q", lines)
}

// A run without a tracer leaves no context in its state.
func TestNothingIsTraced(t *testing.T) {
	telemetry, err := otelagent.New(&otelagent.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))})
	check.Must(t, err)
	a := check.Value(agent.New(play(says("Hello.")), &agent.Options{Observer: telemetry}))(t)
	check.Equal(t, "output", check.Value(a.Run(t.Context(), agent.Text("Hi")))(t).Output, "Hello.")
}

// A model that does not name its provider has an unknown one, which the conventions require.
func TestUnknownProvider(t *testing.T) {
	r := newRecorder(t, otelagent.Options{})
	_, end := r.telemetry.Infer(t.Context(), &agent.Inference{Request: new(model.Request)})
	end(nil)
	check.Equal(t, "provider", attributes(r.GetSpans()[0].Attributes)["gen_ai.provider.name"], "unknown")
}

// counting returns a store in memory that counts what is written to it.
func counting() (store record.Store, writes *atomic.Int32) {
	writes = new(atomic.Int32)
	return ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
		if c.Method == "append" {
			writes.Add(1)
		}
		return c.Do()
	}), writes
}

var talk = runs.Key{ID: "talk"}
var greet = adapter.Func("greet", "", func(context.Context, struct{}) (string, error) { return "Hello.", nil }, nil)

// suspend runs an agent up to a question, which it answers, and continues it in another
// process, which has another recorder. Each gets a call of ctx for its context.
func suspend(t *testing.T, store record.Store, first, second *recorder, ctx func() context.Context) {
	t.Helper()
	options := agent.Options{Name: "boss", Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}}
	result, err := first.agent(t, play(uses("1", "greet", "{}")), options, greet).Run(ctx(), agent.Text("Hi"), agent.WithRun(talk.ID))
	check.Require(t, err == nil && len(result.Questions) == 1, "got %+v, %v, want a question", result, err)
	result, err = second.agent(t, play(says("Done.")), options, greet).Resume(ctx(), talk, result.Questions[0].Allow())
	check.Require(t, err == nil && result.Output == "Done.", "got %+v, %v", result, err)
}

// A suspended run is two traces of one conversation, and the second has a link to the
// first. The context in between takes no write of its own.
func TestSuspendedRun(t *testing.T) {
	first, second := newRecorder(t, otelagent.Options{}), newRecorder(t, otelagent.Options{})
	store, writes := counting()
	suspend(t, store, first, second, t.Context)
	a, b := first.span(t, "invoke_agent boss"), second.span(t, "invoke_agent boss")
	check.That(t, a.SpanContext.TraceID() != b.SpanContext.TraceID() && !b.Parent.IsValid(),
		"got the trace %v twice, or the parent %v, want two traces", a.SpanContext.TraceID(), b.Parent)
	check.That(t, len(a.Links) == 0 && linksTo(b, a), "got the links %v and %v, want one to %v", a.Links, b.Links, a.SpanContext)
	for _, r := range []*recorder{first, second} {
		for _, s := range r.GetSpans() {
			check.Equal(t, s.Name, attributes(s.Attributes)["gen_ai.conversation.id"], talk.ID)
		}
	}
	for _, s := range second.GetSpans() {
		check.That(t, s.SpanContext.SpanID() == b.SpanContext.SpanID() || len(s.Links) == 0, "span %q has a link", s.Name)
	}
	plain, want := counting()
	suspend(t, plain, nil, nil, t.Context)
	check.Equal(t, "writes with and without telemetry", writes.Load(), want.Load())
}

// Each part of a run has a link to the one before, not to the first. A new input to the run is another part.
func TestLinksGoToTheLast(t *testing.T) {
	store := record.NewMemory()
	first, second, third := newRecorder(t, otelagent.Options{}), newRecorder(t, otelagent.Options{}), newRecorder(t, otelagent.Options{})
	suspend(t, store, first, second, t.Context)
	run(t, third.agent(t, play(says("Again.")), agent.Options{Name: "boss", Durable: agent.Durable{Store: store}}))
	got, want := third.span(t, "invoke_agent boss"), second.span(t, "invoke_agent boss")
	check.That(t, linksTo(got, want), "got the links %v, want one to %v", got.Links, want.SpanContext)
}

// linksTo reports whether a span has one link, to another span.
func linksTo(s, other tracetest.SpanStub) bool {
	return len(s.Links) == 1 && s.Links[0].SpanContext.SpanID() == other.SpanContext.SpanID() && s.Links[0].SpanContext.TraceID() == other.SpanContext.TraceID()
}

// A part of a run is a child of the caller's span.
func TestCallersSpan(t *testing.T) {
	r := newRecorder(t, otelagent.Options{})
	var caller trace.SpanContext
	suspend(t, record.NewMemory(), newRecorder(t, otelagent.Options{}), r, func() context.Context {
		ctx, span := r.tracers.Tracer("").Start(t.Context(), "request")
		span.End()
		caller = span.SpanContext()
		return ctx
	})
	s := r.span(t, "invoke_agent boss")
	check.That(t, s.Parent.SpanID() == caller.SpanID() && len(s.Links) == 1, "got the parent %v and the links %v, want the caller %v", s.Parent, s.Links, caller)
}

// A resumed run that still waits does nothing, and has no span and no write.
func TestWaitingRunHasNoSpan(t *testing.T) {
	store, writes := counting()
	r := newRecorder(t, otelagent.Options{})
	a := r.agent(t, play(uses("1", "greet", "{}")), agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}}, greet)
	run(t, a)
	r.Reset()
	before := writes.Load()
	check.Must(t, check.Err(a.Resume(t.Context(), talk)))
	check.Equal(t, "spans", len(r.GetSpans()), 0)
	check.Equal(t, "writes", writes.Load(), before)
}

// A context in a run that is not a trace makes no link.
func TestBrokenContext(t *testing.T) {
	r := newRecorder(t, otelagent.Options{})
	for _, kept := range []map[string]string{nil, {}, {"traceparent": "nonsense"}, {"traceparent": "00-00000000000000000000000000000000-0000000000000000-01"}} {
		_, end := r.telemetry.Invoke(t.Context(), &agent.Invocation{Trace: kept})
		end(nil)
	}
	for _, s := range r.GetSpans() {
		check.Equal(t, "links", len(s.Links), 0)
	}
}

// described is how the scripted models describe themselves.
var described = model.Info{Name: "m", Provider: "acme", NoStreaming: true}

// play makes a model that gives one reply for every call, and fails after the last.
func play(steps ...agenttest.Step) *agenttest.Model {
	return agenttest.Play(steps...).WithInfo(described)
}

func failing(err error) *agenttest.Model {
	return play(func(context.Context, agenttest.Turn) (*model.Response, error) { return nil, err })
}

func says(text string) agenttest.Step {
	return func(_ context.Context, p agenttest.Turn) (*model.Response, error) {
		m := runs.Text(runs.RoleAssistant, text)
		m.Model = "m-1"
		usage := runs.Usage{Input: 7, Output: 3, Cached: 4, Reasoning: 2}
		return &model.Response{Message: m, ID: "reply-1", Finish: model.FinishStop, Usage: usage}, p.Stream(model.Delta{Text: text})
	}
}

func uses(id, name, arguments string) agenttest.Step {
	return func(context.Context, agenttest.Turn) (*model.Response, error) {
		call := runs.Part{Type: runs.PartCall, ID: id, Name: name, Arguments: arguments}
		return &model.Response{Message: runs.Message{Role: runs.RoleAssistant, Parts: []runs.Part{call}}, Finish: model.FinishCalls}, nil
	}
}

// recorder has the spans and metrics of a test.
type recorder struct {
	*tracetest.InMemoryExporter
	tracers   *sdktrace.TracerProvider
	meters    *sdkmetric.ManualReader
	telemetry agent.Observer
}

func newRecorder(t *testing.T, o otelagent.Options) *recorder {
	t.Helper()
	r := &recorder{InMemoryExporter: tracetest.NewInMemoryExporter(), meters: sdkmetric.NewManualReader()}
	r.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(r))
	o.TracerProvider, o.MeterProvider = r.tracers, sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.meters))
	r.telemetry = check.Value(otelagent.New(&o))(t)
	return r
}

func (r *recorder) agent(t *testing.T, model agent.Model, o agent.Options, tools ...adapter.Source) *agent.Agent {
	t.Helper()
	o.Tools = tools
	if o.Durable.Store == nil {
		o.Durable.Store = record.NewMemory()
	}
	if r != nil {
		o.Observer = r.telemetry
	}
	return check.Value(agent.New(model, &o))(t)
}

// lines are the spans in the order of their ends: each with its parents, kind, status and attributes.
func (r *recorder) lines(t *testing.T) []string {
	t.Helper()
	byID := map[trace.SpanID]tracetest.SpanStub{}
	for _, s := range r.GetSpans() {
		byID[s.SpanContext.SpanID()] = s
		check.That(t, !s.EndTime.Before(s.StartTime) && s.Status.Description == "",
			"span %q is from %v to %v, with the status %+v", s.Name, s.StartTime, s.EndTime, s.Status)
	}
	var lines []string
	for _, s := range r.GetSpans() {
		line := s.Name
		for p, ok := byID[s.Parent.SpanID()]; ok; p, ok = byID[p.Parent.SpanID()] {
			line = p.Name + " → " + line
		}
		var attributes []string
		for _, a := range s.Attributes {
			if name := strings.TrimPrefix(string(a.Key), "gen_ai."); name != "conversation.id" {
				attributes = append(attributes, fmt.Sprintf("%s=%v", name, a.Value.AsInterface()))
			}
		}
		slices.Sort(attributes)
		lines = append(lines, fmt.Sprintf("%s (%s, %s): %s", line, s.SpanKind, s.Status.Code, strings.Join(attributes, " ")))
	}
	return lines
}

func (r *recorder) span(t *testing.T, name string) tracetest.SpanStub {
	t.Helper()
	found := slices.DeleteFunc([]tracetest.SpanStub(r.GetSpans()), func(s tracetest.SpanStub) bool { return s.Name != name })
	check.Require(t, len(found) == 1, "got %d spans %q, want one", len(found), name)
	return found[0]
}

func (r *recorder) metrics(t *testing.T) map[string]metricdata.Metrics { return measured(t, r.meters) }

func measured(t *testing.T, reader *sdkmetric.ManualReader) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	check.Must(t, reader.Collect(context.WithoutCancel(t.Context()), &all))
	out := map[string]metricdata.Metrics{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			out[m.Name] = m
		}
	}
	return out
}

func fails() adapter.Source {
	return adapter.Func("lookup", "Looks up.", func(context.Context, struct{}) (string, error) { return "", errors.New("secret") }, nil)
}

func sub(t *testing.T, a *agent.Agent, name string) adapter.Source {
	t.Helper()
	return check.Value(agent.NewSubAgent(a, name, "Helps."))(t)
}

func run(t *testing.T, a *agent.Agent) {
	t.Helper()
	_, _ = a.Run(t.Context(), agent.Text("Hi"), agent.WithRun("talk"))
}
