package otelmcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/otelmcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

type recorder struct {
	t       *testing.T
	spans   *tracetest.InMemoryExporter
	tracers *sdktrace.TracerProvider
	metrics *metric.ManualReader
	options *otelmcp.Options
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{t: t, spans: tracetest.NewInMemoryExporter(), metrics: metric.NewManualReader()}
	r.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans))
	r.options = &otelmcp.Options{
		TracerProvider: r.tracers,
		MeterProvider:  metric.NewMeterProvider(metric.WithReader(r.metrics)),
		Propagator:     propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	}
	return r
}

// install puts telemetry into options.
func (r *recorder) install(o mcpclient.Options) *mcpclient.Options {
	sent, served, err := otelmcp.New(r.options)
	check.Must(r.t, err)
	o.Middleware = append([]mcpclient.Middleware{sent}, o.Middleware...)
	o.ServerMiddleware = append([]mcpclient.Middleware{served}, o.ServerMiddleware...)
	return &o
}

// span returns the only span with this name.
func (r *recorder) span(name string) tracetest.SpanStub {
	r.t.Helper()
	found := slices.DeleteFunc(r.spans.GetSpans(), func(s tracetest.SpanStub) bool { return s.Name != name })
	check.Require(r.t, len(found) == 1, "got %d spans %q, want 1", len(found), name)
	return found[0]
}

// points are the data points of a metric: attributes and count.
func (r *recorder) points(name string) map[string]uint64 {
	r.t.Helper()
	var all metricdata.ResourceMetrics
	check.Must(r.t, r.metrics.Collect(context.Background(), &all))
	out := map[string]uint64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			check.Equal(r.t, name, m.Unit, "s")
			for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
				check.Same(r.t, name, p.Bounds, []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300})
				out[text(p.Attributes.ToSlice())] = p.Count
			}
		}
	}
	return out
}

// text writes attributes in the order of their keys.
func text(attributes []attribute.KeyValue) string {
	var out []string
	for _, a := range attributes {
		out = append(out, fmt.Sprintf("%s=%v", a.Key, a.Value.AsInterface()))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name    string                     `json:"name"`
		Meta    map[string]json.RawMessage `json:"_meta"`
		Answers json.RawMessage            `json:"inputResponses"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
}

func handshake(m message) (answer string, ok bool) {
	const capabilities = `"capabilities":{"tools":{},"prompts":{},"resources":{}}`
	switch m.Method {
	case "initialize":
		return `{"protocolVersion":"2025-11-25",` + capabilities + `,"serverInfo":{"name":"peer","version":"1"}}`, true
	case "server/discover":
		return `{"resultType":"complete","supportedVersions":["2026-07-28"],` + capabilities + `}`, true
	}
	return "", false
}

// serve is a server: it answers handshakes, and requests by the function answer. Its text is a
// whole message if it has an id, else a result; "" means no answer.
func serve(conn transport.Conn, answer func(m message) string) {
	for {
		raw, err := conn.Recv()
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			panic(err)
		}
		reply, ok := handshake(m)
		if !ok {
			reply = answer(m)
		}
		switch {
		case reply == "":
			continue
		case !strings.HasPrefix(reply, `{"id"`):
			reply = fmt.Sprintf(`{"id":%s,"result":%s}`, m.ID, reply)
		}
		if conn.Send(context.Background(), []byte(reply)) != nil {
			return
		}
	}
}

func connect(t *testing.T, ctx context.Context, o *mcpclient.Options, answer func(m message) string) (*mcpclient.Client, transport.Conn) {
	t.Helper()
	transport, conn := mcpclient.Pipe()
	t.Cleanup(func() { _ = conn.Close() })
	go serve(conn, answer)
	c := check.Value(mcpclient.Connect(ctx, transport, o))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c, conn
}
