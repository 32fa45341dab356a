// Package otelmcp traces and measures a client of the Model Context Protocol with OpenTelemetry.
//
//	sent, served, err := otelmcp.New(nil)
//	…
//	client, err := mcpclient.Connect(ctx, transport, &mcpclient.Options{
//		Middleware:       []mcpclient.Middleware{sent},
//		ServerMiddleware: []mcpclient.Middleware{served},
//	})
//
// Spans, metrics and attributes follow OpenTelemetry's semantic conventions for
// MCP. These are in development: names may change with them.
//
// Each call is a span of kind client, "tools/call sum" for example, that lasts until its result:
// input rounds, retries and waits for a new session are parts of it. A request of the server is a
// span of kind server. Trace context and baggage travel in _meta, both ways: spans of the server
// become children of the client's spans, and the reverse.
//
// The metrics are the histograms mcp.client.operation.duration and mcp.server.operation.duration, in
// seconds.
//
// Arguments, results, messages, error texts and session ids are never recorded: the status
// of a span has no description. error.type is one of:
//
//   - the code of a JSON-RPC error, which rpc.response.status_code has too. A code that package
//     mcpclient does not define is in spans only: metrics have _OTHER instead, so that a server
//     cannot create an unbounded number of series
//   - tool_error: the tool ran and failed
//   - the status of an HTTP response
//   - canceled, timeout: the context of the call ended
//   - connection_closed, connection_lost, session_lost, rejected, invalid_result,
//     message_too_large, too_many_rounds: as the errors of package mcpclient
//   - panic
//   - _OTHER
//
// The guide is docs/observability.md of the repository.
package otelmcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Options configure telemetry. Nil and the zero value are valid.
type Options struct {
	// TracerProvider and MeterProvider receive the spans and metrics. Default: the global ones of package otel.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider

	// Propagator writes _meta and reads it. Default: the global one of package otel; it does
	// nothing unless it was set. A server's baggage reaches the contexts of handlers, and
	// everything that they call: use only propagation.TraceContext for untrusted servers.
	Propagator propagation.TextMapPropagator
}

// scope is the name of the instrumentation.
const scope = "github.com/mcpchain/mcpchain/mcpclient/otelmcp"

// telemetry records the requests of any number of clients.
type telemetry struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator

	sent, served metric.Float64Histogram
}

// New returns middleware that records the requests of any number of clients: sent is for
// [mcpclient.Options.Middleware], served for ServerMiddleware. Put each first, so that it sees the work of
// the others. The caller shuts the providers down. The error is the MeterProvider's.
//
// The parent of a span of a server's request is the server's span from _meta, and the span has a link
// to the call during which the server asked. Without a span in _meta, the call is the parent. Both may
// be unknown.
func New(opts *Options) (sent, served mcpclient.Middleware, err error) {
	o := *cmp.Or(opts, new(Options))
	o.TracerProvider = cmp.Or(o.TracerProvider, otel.GetTracerProvider())
	o.MeterProvider = cmp.Or(o.MeterProvider, otel.GetMeterProvider())
	o.Propagator = cmp.Or(o.Propagator, otel.GetTextMapPropagator())
	meter := o.MeterProvider.Meter(scope)
	var errs []error
	seconds := func(name, description string) metric.Float64Histogram {
		histogram, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300))
		if err != nil {
			errs = append(errs, fmt.Errorf("otelmcp: %s: %w", name, err))
		}
		return histogram
	}
	t := &telemetry{
		tracer:     o.TracerProvider.Tracer(scope),
		propagator: o.Propagator,
		sent:       seconds("mcp.client.operation.duration", "Duration of requests and notifications that the client sends, until the answer."),
		served:     seconds("mcp.server.operation.duration", "Duration of requests that the client answers."),
	}
	if len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	return t.clientMiddleware, t.serverMiddleware, nil
}

// clientMiddleware is for [mcpclient.Options.Middleware].
func (t *telemetry) clientMiddleware(next mcpclient.Handler) mcpclient.Handler {
	return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
		o := begin(r, t.sent, requestAttributes(r))
		ctx, o.span = t.tracer.Start(ctx, spanName(r), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(o.attributes...))
		defer o.end(ctx)
		t.propagator.Inject(ctx, carrier(r.Meta))
		raw, err := next(ctx, r)
		received, _ := errors.AsType[*mcp.RPCError](err)
		o.failure = newFailure(r, raw, err, received)
		if id := r.ID(); id != 0 {
			o.span.SetAttributes(keyRequestID.String(strconv.FormatInt(id, 10)))
		}
		return raw, err
	}
}

// serverMiddleware is for [mcpclient.Options.ServerMiddleware].
func (t *telemetry) serverMiddleware(next mcpclient.Handler) mcpclient.Handler {
	return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) {
		o := begin(r, t.served, []attribute.KeyValue{keyMethod.String(serverMethod(r.Method))})
		options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(o.attributes...)}
		call := trace.SpanContextFromContext(ctx)
		ctx = t.propagator.Extract(ctx, carrier(r.Meta))
		if call.IsValid() && !trace.SpanContextFromContext(ctx).Equal(call) {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: call}))
		}
		ctx, o.span = t.tracer.Start(ctx, serverMethod(r.Method), options...)
		defer o.end(ctx)
		if origin, ok := mcp.OriginFrom(ctx); ok && origin.ID != nil {
			o.span.SetAttributes(keyRequestID.String(idText(origin.ID)))
		}
		raw, err := next(ctx, r)
		o.failure = newFailure(r, raw, err, sentError(err))
		return raw, err
	}
}

// operation is a request that is being recorded.
type operation struct {
	request    *mcpclient.Request
	duration   metric.Float64Histogram
	span       trace.Span
	start      time.Time
	attributes []attribute.KeyValue // attributes of the span and the metric
	failure    failure
}

// begin returns the operation of a request that starts now. The caller sets the span.
func begin(r *mcpclient.Request, duration metric.Float64Histogram, attributes []attribute.KeyValue) *operation {
	return &operation{
		request:    r,
		duration:   duration,
		start:      time.Now(),
		attributes: append(attributes, connectionAttributes(r.Client)...),
		failure:    failure{kind: "panic"}, // unless it ends without a panic
	}
}

// end completes the span, and records the duration.
func (o *operation) end(ctx context.Context) {
	o.span.SetAttributes(o.attributes...)
	o.span.SetAttributes(o.failure.attributes()...)
	if uri, ok := resourceURI(o.request); ok { // not in metrics: there are too many
		o.span.SetAttributes(uri)
	}
	if o.failure.kind != "" {
		o.span.SetStatus(codes.Error, "") // a description would quote the server
	}
	o.span.End()
	measured := append(o.attributes, o.failure.forMetrics().attributes()...)
	o.duration.Record(ctx, time.Since(o.start).Seconds(), metric.WithAttributeSet(attribute.NewSet(measured...)))
}
