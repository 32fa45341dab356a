package otelagent

import (
	"context"
	"errors"
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
	tokenCounts  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// appendSeconds are the bucket boundaries of the duration of an append, which the conventions do
// not know: a store takes milliseconds.
var appendSeconds = []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10}

// metrics are the instruments of the conventions, and appended, which is our own.
type metrics struct {
	invocation, inference, firstChunk, execution, appended metric.Float64Histogram

	inferenceCalls, toolCalls, inputs, outputs metric.Int64Histogram

	usage []metric.Int64Counter // in the order of tokenKinds
}

// tokenKinds are the kinds of tokens that are counted. Cached and CacheWrite are parts of Input,
// and Reasoning of Output.
var tokenKinds = []struct {
	name, description string
	of                func(*run.Usage) int64
}{
	{"input_tokens", "The number of input tokens, including cached ones.", func(u *run.Usage) int64 { return u.Input }},
	{"output_tokens", "The number of output tokens, including reasoning.", func(u *run.Usage) int64 { return u.Output }},
	{"cache_read.input_tokens", "The number of input tokens from a cache of the provider.", func(u *run.Usage) int64 { return u.Cached }},
	{"cache_write.input_tokens", "The number of input tokens written to a cache of the provider.", func(u *run.Usage) int64 { return u.CacheWrite }},
	{"reasoning.output_tokens", "The number of output tokens for reasoning.", func(u *run.Usage) int64 { return u.Reasoning }},
}

// maker makes instruments, and joins the errors of those that could not be made.
type maker struct {
	meter metric.Meter
	err   error
}

// addError adds the error of an instrument, unless it is nil.
func (m *maker) addError(name string, err error) {
	if err != nil {
		m.err = errors.Join(m.err, fmt.Errorf("%s: %w", name, err))
	}
}

func (m *maker) seconds(name, description string, boundaries []float64) metric.Float64Histogram {
	h, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(boundaries...))
	m.addError(name, err)
	return h
}

func (m *maker) numbers(name, unit, description string, boundaries []float64) metric.Int64Histogram {
	h, err := m.meter.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(boundaries...))
	m.addError(name, err)
	return h
}

func (m *maker) gauge(name, unit, description string) metric.Int64ObservableGauge {
	g, err := m.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	m.addError(name, err)
	return g
}

// newMetrics makes the instruments. The error joins those of all instruments that could not be made.
func newMetrics(meter metric.Meter) (*metrics, error) {
	in := &maker{meter: meter}
	m := &metrics{
		invocation: in.seconds("gen_ai.invoke_agent.duration", "Duration of the work of an agent on a run, in one process.", agentSeconds),
		inference:  in.seconds("gen_ai.client.inference.duration", "Duration of model calls.", callSeconds),
		firstChunk: in.seconds("gen_ai.client.inference.time_to_first_chunk", "Time from a model call to the first chunk of its reply.", callSeconds),
		execution:  in.seconds("gen_ai.execute_tool.duration", "Duration of tool calls.", callSeconds),
		appended: in.seconds("mcpchain.runs.append.duration",
			"How long the store of a run takes to keep what was recorded, with all attempts.", appendSeconds),

		inferenceCalls: in.numbers("gen_ai.invoke_agent.inference_calls", "{inference_call}", "Model calls of one invocation.", callCounts),
		toolCalls:      in.numbers("gen_ai.invoke_agent.tool_calls", "{tool_call}", "Tool calls of one invocation.", callCounts),
		inputs:         in.numbers("gen_ai.client.inference.operation.input_tokens", "{token}", "Input tokens of one model call.", tokenCounts),
		outputs:        in.numbers("gen_ai.client.inference.operation.output_tokens", "{token}", "Output tokens of one model call.", tokenCounts),
	}
	for _, kind := range tokenKinds {
		name := "gen_ai.client.inference.usage." + kind.name
		counter, err := meter.Int64Counter(name, metric.WithUnit("{token}"), metric.WithDescription(kind.description))
		in.addError(name, err)
		m.usage = append(m.usage, counter)
	}
	return m, in.err
}

// withAttributes returns the option that attaches attributes to a measurement, and error.type if
// failure is not empty.
func withAttributes(failure string, attributes ...[]attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(slices.Concat(attributes...), text(keyErrorType, failure)...)...)
}

func (m *metrics) recordInvocation(ctx context.Context, v *agent.Invocation, i *invocation, failure string, seconds float64) {
	name := text(keyAgentName, v.Agent)
	m.invocation.Record(ctx, seconds, withAttributes(failure, name, text(keyRequestModel, v.Model)))
	m.inferenceCalls.Record(ctx, i.inferences.Load(), withAttributes("", name))
	m.toolCalls.Record(ctx, i.tools.Load(), withAttributes("", name))
}

// recordInference records a model call, which has ended. The histograms of tokens leave out counts
// that are unknown, as the spans do.
func (m *metrics) recordInference(ctx context.Context, v *agent.Inference, failure string, seconds float64) {
	attributes := append(text(keyRequestModel, v.Info.Name), keyOperation.String("chat"), keyProvider.String(provider(v)))
	var used run.Usage
	if v.Response != nil {
		used = v.Response.Usage
		attributes = append(attributes, text(keyResponseModel, v.Response.Message.Model)...)
	}
	all := withAttributes(failure, attributes)
	m.inference.Record(ctx, seconds, all)
	if used.Input > 0 {
		m.inputs.Record(ctx, used.Input, all)
	}
	if used.Output > 0 {
		m.outputs.Record(ctx, used.Output, all)
	}
	if v.FirstChunk > 0 {
		m.firstChunk.Record(ctx, v.FirstChunk.Seconds(), withAttributes("", attributes))
	}
	// No model reports tokens by modality.
	counted := withAttributes("", attributes, []attribute.KeyValue{keyModality.String("unknown")})
	for i, kind := range tokenKinds {
		m.usage[i].Add(ctx, kind.of(&used), counted)
	}
}

func (m *metrics) recordExecution(ctx context.Context, v *agent.Execution, i *invocation, failure string, seconds float64) {
	m.execution.Record(ctx, seconds, withAttributes(failure, text(keyAgentName, i.agent),
		[]attribute.KeyValue{keyTool.String(v.Name), keyToolType.String("function")}))
}
