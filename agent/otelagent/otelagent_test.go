package otelagent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tmc/langchaingo/llms"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/otelagent"
)

// script is a model that gives one reply for every call, and fails after the last.
type script struct {
	replies []*llms.ContentChoice
	err     error
}

func (s *script) GenerateContent(context.Context, []llms.MessageContent, ...llms.CallOption) (*llms.ContentResponse, error) {
	if len(s.replies) == 0 {
		return nil, s.err
	}
	reply := s.replies[0]
	s.replies = s.replies[1:]
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{reply}}, nil
}

func (s *script) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.New("not used")
}

func says(text string) *llms.ContentChoice {
	return &llms.ContentChoice{Content: text, StopReason: "stop", GenerationInfo: map[string]any{"PromptTokens": 7, "CompletionTokens": 3}}
}

func uses(id, name, arguments string) *llms.ContentChoice {
	return &llms.ContentChoice{StopReason: "tool_calls", ToolCalls: []llms.ToolCall{
		{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: arguments}},
	}}
}

func newAgent(t *testing.T, model llms.Model, tools ...adapter.Source) *agent.Agent {
	t.Helper()
	a, err := agent.New(model, &agent.Options{Tools: tools, CallOptions: []llms.CallOption{llms.WithModel("m")}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// fails is a tool that fails.
func fails() adapter.Source {
	return adapter.Func("lookup", "", func(context.Context, struct{}) (string, error) { return "", errors.New("secret") }, nil)
}

// traced runs the agent and returns its spans, each with its parents, its attributes but
// the run's, and its status.
func traced(t *testing.T, a *agent.Agent) []string {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	for range otelagent.Trace(t.Context(), provider, a.Events(t.Context(), agent.Text("Hi"))) {
	}
	byID := map[trace.SpanID]tracetest.SpanStub{}
	for _, s := range spans.GetSpans() {
		byID[s.SpanContext.SpanID()] = s
		if s.EndTime.Before(s.StartTime) || s.Status.Description != "" {
			t.Errorf("span %q is from %v to %v, with the status %+v", s.Name, s.StartTime, s.EndTime, s.Status)
		}
	}
	var lines []string
	for _, s := range spans.GetSpans() {
		line := s.Name
		for p, ok := byID[s.Parent.SpanID()]; ok; p, ok = byID[p.Parent.SpanID()] {
			line = p.Name + " → " + line
		}
		var attributes []string
		for _, a := range s.Attributes {
			if name := strings.TrimPrefix(string(a.Key), "gen_ai."); name != "conversation.id" {
				attributes = append(attributes, fmt.Sprintf("%s=%s", name, a.Value.Emit()))
			}
		}
		slices.Sort(attributes)
		lines = append(lines, fmt.Sprintf("%s (%s, %s): %s", line, s.SpanKind, s.Status.Code, strings.Join(attributes, " ")))
	}
	return lines
}

func TestTrace(t *testing.T) {
	helper := newAgent(t, &script{replies: []*llms.ContentChoice{uses("1", "lookup", "{}"), says("Sunny.")}}, fails())
	sub, err := agent.Sub(helper, "helper", "Helps")
	if err != nil {
		t.Fatal(err)
	}
	got := traced(t, newAgent(t, &script{replies: []*llms.ContentChoice{uses("1", "helper", `{"task":"Weather?"}`), says("Sunny.")}}, sub))
	const answered = "operation.name=chat request.model=m response.finish_reasons=[\"stop\"] response.model=m usage.input_tokens=7 usage.output_tokens=3"
	const asked = "operation.name=chat request.model=m response.finish_reasons=[\"tool_calls\"] response.model=m"
	want := []string{
		"invoke_agent → chat m (client, Unset): " + asked,
		"invoke_agent → invoke_agent helper → chat m (client, Unset): " + asked,
		"invoke_agent → invoke_agent helper → execute_tool lookup (internal, Error): error.type=tool_error operation.name=execute_tool tool.call.id=1 tool.name=lookup tool.type=function",
		"invoke_agent → invoke_agent helper → chat m (client, Unset): " + answered,
		"invoke_agent → invoke_agent helper (internal, Unset): agent.name=helper operation.name=invoke_agent",
		"invoke_agent → chat m (client, Unset): " + answered,
		"invoke_agent (internal, Unset): operation.name=invoke_agent",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("spans (-want +got):\n%s", d)
	}
}

func TestTraceOfARunThatFails(t *testing.T) {
	for kind, err := range map[string]error{
		"_OTHER": errors.New("secret"), "canceled": context.Canceled, "timeout": context.DeadlineExceeded,
	} {
		got := traced(t, newAgent(t, &script{err: err}))
		want := []string{
			"invoke_agent → chat m (client, Error): error.type=" + kind + " operation.name=chat request.model=m",
			"invoke_agent (internal, Error): error.type=" + kind + " operation.name=invoke_agent",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v: spans (-want +got):\n%s", err, d)
		}
	}
}

func TestTraceOfARangeThatIsLeft(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	a := newAgent(t, &script{replies: []*llms.ContentChoice{says("Hello.")}})
	for range otelagent.Trace(t.Context(), provider, a.Events(t.Context(), agent.Text("Hi"))) {
		break
	}
	if n := len(spans.GetSpans()); n != 2 {
		t.Errorf("%d spans have ended, want 2", n)
	}
}
