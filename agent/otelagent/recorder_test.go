package otelagent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/otelagent"
	runs "github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

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
