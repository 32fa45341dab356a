// Package otelagent traces and measures the runs of agents with OpenTelemetry.
//
//	t, err := otelagent.New(nil)
//	…
//	a, err := agent.New(model, &agent.Options{Observer: t})
//
// Spans, metrics and attributes follow OpenTelemetry's semantic conventions for generative AI, which
// are in development: names may change with them. The work of one process on a run is a span
// invoke_agent, with a child for each model call (chat) and each tool call that is sent
// (execute_tool). The spans of an MCP client (package otelmcp), of a sub-agent and of a tool's own
// work are children of execute_tool.
//
// The guide, docs/observability.md of the repository, lists the metrics and the attributes of
// spans.
//
// # Suspended runs
//
// A run that waits for a person, or whose process ends, continues in another span invoke_agent,
// usually in another process. That span is linked to the previous one, whose context is stored with
// the run, and has the same gen_ai.conversation.id, the id of the run. It is a child of the span in
// the context of [agent.Agent.Resume], or the root of a trace if there is none.
//
// # Content
//
// Messages, instructions, tools, arguments and results are recorded only with [Options.Content].
// Error texts are never recorded: the status of a span has no description. error.type is one of:
//
//   - tool_error: the tool ran and failed, or could not be called
//   - canceled, timeout: the context of the run ended, or a time limit was reached
//   - authentication, rate_limit, invalid_request, resource_not_found, content_filter, token_limit,
//     provider_unavailable: the model failed
//   - _OTHER
package otelagent

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/agent"
)

// Options configure telemetry. Nil and the zero value are valid.
type Options struct {
	// TracerProvider and MeterProvider receive the spans and metrics. Default: the
	// global ones of package otel.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider

	// Content makes spans record what models and tools read and write, which is likely to
	// include personal data and secrets. Each attribute has at most 64 KiB: texts longer than
	// 8 KiB are cut; longer media data, the oldest messages and the last tools that do not fit are
	// left out. Default: not recorded.
	Content bool
}

const scope = "github.com/mcpchain/mcpchain/agent/otelagent"

// maxContent bounds an attribute of content, in bytes.
const maxContent = 64 << 10

// telemetry is the observer of [New].
type telemetry struct {
	tracer  trace.Tracer
	content *writer // nil: not recorded
	metrics *metrics
}

// New returns an observer for any number of agents. The error says which instruments could not be
// created.
func New(opts *Options) (agent.Observer, error) {
	o := *cmp.Or(opts, new(Options))
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	t := &telemetry{tracer: o.TracerProvider.Tracer(scope)}
	if o.Content {
		t.content = &writer{limit: maxContent}
	}
	var err error
	t.metrics, err = newMetrics(o.MeterProvider.Meter(scope))
	if err != nil {
		return nil, fmt.Errorf("otelagent: %w", err)
	}
	return t, nil
}

// invocation holds the attributes that child spans of a span invoke_agent repeat, and its totals, to
// which child spans add concurrently.
type invocation struct {
	run, agent string
	finish     string // why the last reply ended

	inferences, tools atomic.Int64 // calls
	input, output     atomic.Int64 // tokens
}

type key struct{}

// currentInvocation returns the invocation that the work belongs to. Outside a run it is one whose
// totals nobody reads.
func currentInvocation(ctx context.Context) *invocation {
	i, _ := ctx.Value(key{}).(*invocation)
	return cmp.Or(i, new(invocation))
}

// Appended implements [agent.Observer]. It records how long the store took, even if it
// failed.
func (t *telemetry) Appended(ctx context.Context, took time.Duration, err error) {
	t.metrics.appended.Record(ctx, took.Seconds(), withAttributes(errorType(err)))
}

func (t *telemetry) Invoke(ctx context.Context, v *agent.Invocation) (context.Context, func(error)) {
	i := &invocation{run: v.Run, agent: v.Agent}
	span, ctx := t.start(ctx, "invoke_agent", v.Agent, trace.SpanKindInternal, invocationStart(v), links(v.Trace)...)
	ctx = context.WithValue(ctx, key{}, i)
	v.Trace = traceContext(ctx)
	return ctx, func(err error) {
		failure := errorType(err)
		attributes := invocationEnd(v, i)
		if t.content != nil {
			attributes = append(attributes, t.content.invocation(v, i.finish)...)
		}
		t.metrics.recordInvocation(ctx, v, i, failure, span.end(failure, attributes))
	}
}

func (t *telemetry) Infer(ctx context.Context, v *agent.Inference) (context.Context, func(error)) {
	i := currentInvocation(ctx)
	i.inferences.Add(1)
	span, ctx := t.start(ctx, "chat", v.Info.Name, trace.SpanKindClient, inferenceStart(v, i))
	return ctx, func(err error) {
		if v.Response != nil {
			i.finish = v.Response.Finish
			i.input.Add(v.Response.Usage.Input)
			i.output.Add(v.Response.Usage.Output)
		}
		failure := errorType(err)
		attributes := inferenceEnd(v)
		if t.content != nil {
			attributes = append(attributes, t.content.inference(v)...)
		}
		t.metrics.recordInference(ctx, v, failure, span.end(failure, attributes))
	}
}

func (t *telemetry) Execute(ctx context.Context, v *agent.Execution) (context.Context, func(error)) {
	i := currentInvocation(ctx)
	i.tools.Add(1)
	span, ctx := t.start(ctx, "execute_tool", v.Name, trace.SpanKindInternal, executionStart(v, i))
	return ctx, func(err error) {
		failure := errorType(err)
		if v.Result != nil && v.Result.IsError && (failure == "" || failure == otherError) {
			failure = "tool_error"
		}
		var attributes []attribute.KeyValue
		if t.content != nil {
			attributes = t.content.execution(v)
		}
		t.metrics.recordExecution(ctx, v, i, failure, span.end(failure, attributes))
	}
}

type span struct {
	trace.Span
	began time.Time
}

// start begins a span. Its name is the operation and, if it is known, the target: the agent, the
// model or the tool.
func (t *telemetry) start(
	ctx context.Context, operation, target string, kind trace.SpanKind, attributes []attribute.KeyValue,
	links ...trace.Link,
) (*span, context.Context) {
	name := operation
	if target != "" {
		name += " " + target
	}
	s := &span{began: time.Now()}
	attributes = append(attributes, keyOperation.String(operation))
	ctx, s.Span = t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(s.began),
		trace.WithAttributes(attributes...), trace.WithLinks(links...))
	return s, ctx
}

// end ends the span, as failed if failure, its error type, is not empty. It returns the duration
// in seconds, which the metrics record, too.
func (s *span) end(failure string, attributes []attribute.KeyValue) float64 {
	duration := time.Since(s.began)
	s.SetAttributes(attributes...)
	if failure != "" {
		s.SetAttributes(keyErrorType.String(failure))
		s.SetStatus(codes.Error, "") // a description would quote a model or server
	}
	s.End(trace.WithTimestamp(s.began.Add(duration)))
	return duration.Seconds()
}

// traceContext returns the context of the current span in the form that is stored with a run, nil
// without a span.
func traceContext(ctx context.Context) map[string]string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	if len(carrier) == 0 {
		return nil
	}
	return carrier
}

// links returns a link to the span whose context is stored with a run, none if there was no span
// or the context is not valid.
func links(stored map[string]string) []trace.Link {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier(stored))
	previous := trace.SpanContextFromContext(ctx)
	if !previous.IsValid() {
		return nil
	}
	return []trace.Link{{SpanContext: previous}}
}
