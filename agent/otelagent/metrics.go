package otelagent

import (
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// The bucket boundaries of the conventions.
var (
	callSeconds  = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	agentSeconds = []float64{0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6}
	callCounts   = []float64{1, 2, 4, 8, 16, 32, 64, 128}
	keptSeconds  = []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10}
	tokenCounts  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// metrics are the instruments of the conventions, and kept, which is our own.
type metrics struct {
	invocation, inference, firstChunk, execution, kept metric.Float64Histogram

	inferenceCalls, toolCalls, inputs, outputs metric.Int64Histogram

	usage []counter
}

// counter counts tokens of one kind.
type counter struct {
	metric.Int64Counter
	of func(*run.Spent) int64
}

// The kinds of tokens. Cached and CacheWrite are parts of Input, and Reasoning of Output.
var kinds = []struct {
	name, description string
	of                func(*run.Spent) int64
}{
	{"input_tokens", "The number of input tokens, including cached ones.", func(u *run.Spent) int64 { return u.Input }},
	{"output_tokens", "The number of output tokens, including reasoning.", func(u *run.Spent) int64 { return u.Output }},
	{"cache_read.input_tokens", "The number of input tokens from a cache of the provider.", func(u *run.Spent) int64 { return u.Cached }},
	{"cache_write.input_tokens", "The number of input tokens written to a cache of the provider.", func(u *run.Spent) int64 { return u.CacheWrite }},
	{"reasoning.output_tokens", "The number of output tokens for reasoning.", func(u *run.Spent) int64 { return u.Reasoning }},
}

func newMetrics(meter metric.Meter) (*metrics, error) {
	m := new(metrics)
	for _, h := range []struct {
		histogram         *metric.Float64Histogram
		name, description string
		boundaries        []float64
	}{
		{&m.invocation, "gen_ai.invoke_agent.duration", "Duration of the work of an agent on a run, in one process.", agentSeconds},
		{&m.inference, "gen_ai.client.inference.duration", "Duration of model calls.", callSeconds},
		{&m.firstChunk, "gen_ai.client.inference.time_to_first_chunk", "Time from a model call to the first chunk of its reply.", callSeconds},
		{&m.execution, "gen_ai.execute_tool.duration", "Duration of tool calls.", callSeconds},
		{&m.kept, "mcpchain.runs.append.duration", "How long the store of a run takes to keep what was recorded, with all attempts.", keptSeconds},
	} {
		var err error
		*h.histogram, err = meter.Float64Histogram(h.name, metric.WithUnit("s"), metric.WithDescription(h.description),
			metric.WithExplicitBucketBoundaries(h.boundaries...))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.name, err)
		}
	}
	for _, h := range []struct {
		histogram               *metric.Int64Histogram
		name, unit, description string
		boundaries              []float64
	}{
		{&m.inferenceCalls, "gen_ai.invoke_agent.inference_calls", "{inference_call}", "Model calls of one invocation.", callCounts},
		{&m.toolCalls, "gen_ai.invoke_agent.tool_calls", "{tool_call}", "Tool calls of one invocation.", callCounts},
		{&m.inputs, "gen_ai.client.inference.operation.input_tokens", "{token}", "Input tokens of one model call.", tokenCounts},
		{&m.outputs, "gen_ai.client.inference.operation.output_tokens", "{token}", "Output tokens of one model call.", tokenCounts},
	} {
		var err error
		*h.histogram, err = meter.Int64Histogram(h.name, metric.WithUnit(h.unit), metric.WithDescription(h.description),
			metric.WithExplicitBucketBoundaries(h.boundaries...))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.name, err)
		}
	}
	for _, k := range kinds {
		name := "gen_ai.client.inference.usage." + k.name
		c, err := meter.Int64Counter(name, metric.WithUnit("{token}"), metric.WithDescription(k.description))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		m.usage = append(m.usage, counter{c, k.of})
	}
	return m, nil
}

// with returns attributes, with the error type if there is an error.
func with(kind string, attributes ...[]attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(slices.Concat(attributes...), text(keyErrorType, kind)...)...)
}

func (m *metrics) invoked(ctx context.Context, v *agent.Invocation, i *invocation, kind string, seconds float64) {
	name := text(keyAgentName, v.Agent)
	m.invocation.Record(ctx, seconds, with(kind, name, text(keyRequestModel, v.Model)))
	m.inferenceCalls.Record(ctx, i.inferences.Load(), with("", name))
	m.toolCalls.Record(ctx, i.tools.Load(), with("", name))
}

func (m *metrics) inferred(ctx context.Context, v *agent.Inference, kind string, seconds float64) {
	attributes := append(text(keyRequestModel, v.Model), keyOperation.String("chat"), keyProvider.String(v.Provider))
	if v.Response != nil {
		attributes = append(attributes, text(keyResponseModel, v.Response.Model)...)
	}
	all := with(kind, attributes)
	m.inference.Record(ctx, seconds, all)
	if v.Usage.Input > 0 { // otherwise unknown, for example because the call failed
		m.inputs.Record(ctx, v.Usage.Input, all)
	}
	if v.Usage.Output > 0 {
		m.outputs.Record(ctx, v.Usage.Output, all)
	}
	if v.FirstChunk > 0 {
		m.firstChunk.Record(ctx, v.FirstChunk.Seconds(), with("", attributes))
	}
	// langchaingo's providers do not split tokens by modality.
	counted := with("", attributes, []attribute.KeyValue{keyModality.String("unknown")})
	for _, c := range m.usage {
		c.Add(ctx, c.of(&v.Usage), counted)
	}
}

func (m *metrics) executed(ctx context.Context, v *agent.Execution, i *invocation, kind string, seconds float64) {
	m.execution.Record(ctx, seconds, with(kind, text(keyAgentName, i.agent),
		[]attribute.KeyValue{keyTool.String(v.Name), keyToolType.String("function")}))
}
