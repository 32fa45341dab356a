// Package otelagent traces the runs of agents with OpenTelemetry.
//
//	for event, err := range otelagent.Trace(ctx, provider, a.Events(ctx, input)) {
//		…
//	}
//
// Spans and attributes follow OpenTelemetry's semantic conventions for generative AI. These
// are in development: names may change with them. A run is a span invoke_agent, with a
// child for each call of its model (chat) and of its tools (execute_tool). A sub-agent is a
// span invoke_agent too; calls of one sub-agent at the same time share a span. A call that
// is not run has no span. The provider of a model is not recorded: events do not have it.
//
// Messages, arguments, results and error texts are never recorded: the status of a span has
// no description. error.type is one of:
//
//   - tool_error: the tool ran and failed
//   - canceled, timeout: the context of the run ended
//   - _OTHER
package otelagent

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/agent"
)

// scope is the name of the instrumentation.
const scope = "github.com/mcpchain/mcpchain/agent/otelagent"

// Trace makes spans of the events of a run, and yields the events as they are. The span of
// the run is a child of the span in ctx. It ends with the events, or when their range is left.
//
// Spans have the times of the events. The context of the run does not have the spans:
// what tools record is beside them, as children of the span in the run's own context.
func Trace(ctx context.Context, provider trace.TracerProvider, events iter.Seq2[agent.Event, error]) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		t := &tracing{ctx: ctx, tracer: provider.Tracer(scope)}
		kind := ""
		defer func() { t.end(0, kind) }()
		for event, err := range events {
			if err != nil {
				kind = errorType(err)
			} else {
				t.take(event)
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// tracing has the spans of one run.
type tracing struct {
	ctx    context.Context
	tracer trace.Tracer
	open   []*opened // parents before their children
	last   time.Time
}

// opened is a span that has not ended.
type opened struct {
	key  string
	ctx  context.Context
	span trace.Span
}

func (t *tracing) take(event agent.Event) {
	switch e := event.(type) {
	case *agent.ModelStart:
		t.begin(&e.Meta, "chat", name("chat", e.Model), trace.SpanKindClient, asked(e)...)
	case *agent.ModelEnd:
		t.close(&e.Meta, "chat", "", replied(e)...)
	case *agent.ToolStart:
		t.begin(&e.Meta, "tool "+e.ID, name("execute_tool", e.Name), trace.SpanKindInternal, called(e)...)
	case *agent.ToolEnd:
		kind := ""
		if e.Part.IsError {
			kind = "tool_error"
		}
		t.close(&e.Meta, "tool "+e.ID, kind)
		t.leave(&e.Meta, e.Name, kind)
	case *agent.Answer:
		t.at(&e.Meta)
	case *agent.Suspended:
		t.at(&e.Meta)
	}
}

// at takes the time of an event.
func (t *tracing) at(m *agent.Meta) {
	if m.Time.After(t.last) {
		t.last = m.Time
	}
}

// begin opens a span in the run of the event's agent.
func (t *tracing) begin(m *agent.Meta, what, name string, kind trace.SpanKind, attributes ...attribute.KeyValue) {
	t.at(m)
	ctx := t.invoked(m)
	t.start(ctx, key(m.Path)+what, name, kind, attributes)
}

// invoked returns the context of the event's agent, and opens its span and those above.
func (t *tracing) invoked(m *agent.Meta) context.Context {
	ctx := t.ctx
	for depth := range len(m.Path) + 1 {
		path := m.Path[:depth]
		i := t.find(key(path))
		if i >= 0 {
			ctx = t.open[i].ctx
			continue
		}
		attributes := []attribute.KeyValue{keyOperation.String("invoke_agent"), keyConversation.String(m.Run)}
		agent := ""
		if depth > 0 {
			agent = path[depth-1]
			attributes = append(attributes, keyAgent.String(agent))
		}
		ctx = t.start(ctx, key(path), name("invoke_agent", agent), trace.SpanKindInternal, attributes)
	}
	return ctx
}

func (t *tracing) start(ctx context.Context, key, name string, kind trace.SpanKind, attributes []attribute.KeyValue) context.Context {
	options := []trace.SpanStartOption{trace.WithSpanKind(kind), trace.WithAttributes(attributes...)}
	if !t.last.IsZero() {
		options = append(options, trace.WithTimestamp(t.last))
	}
	ctx, span := t.tracer.Start(ctx, name, options...)
	t.open = append(t.open, &opened{key, ctx, span})
	return ctx
}

// close ends a span in the run of the event's agent, if it is open.
func (t *tracing) close(m *agent.Meta, what, kind string, attributes ...attribute.KeyValue) {
	t.at(m)
	i := t.find(key(m.Path) + what)
	if i < 0 {
		return
	}
	t.open[i].span.SetAttributes(attributes...)
	t.finish(t.open[i], kind)
	t.open = slices.Delete(t.open, i, i+1)
}

// leave ends the span of a sub-agent, with all in it.
func (t *tracing) leave(m *agent.Meta, agent, kind string) {
	own := strings.TrimSuffix(key(append(slices.Clone(m.Path), agent)), "\x00") // and of its own sub-agents
	for i := len(t.open) - 1; i >= 0; i-- {
		if strings.HasPrefix(t.open[i].key, own) {
			t.finish(t.open[i], kind)
			t.open = slices.Delete(t.open, i, i+1)
		}
	}
}

// end ends the open spans from i, children first.
func (t *tracing) end(i int, kind string) {
	for _, o := range slices.Backward(t.open[i:]) {
		t.finish(o, kind)
	}
	t.open = t.open[:i]
}

func (t *tracing) finish(o *opened, kind string) {
	if kind != "" {
		o.span.SetAttributes(keyErrorType.String(kind))
		o.span.SetStatus(codes.Error, "") // a description would quote the model or a server
	}
	if t.last.IsZero() || kind != "" {
		o.span.End()
		return
	}
	o.span.End(trace.WithTimestamp(t.last))
}

func (t *tracing) find(key string) int {
	return slices.IndexFunc(t.open, func(o *opened) bool { return o.key == key })
}

// key is of the agent with that path; what it works on follows.
func key(path []string) string {
	return strings.Join(append([]string{""}, path...), "\x00") + "\x00\x00"
}
