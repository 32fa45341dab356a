package lc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

// handler keeps what it is told.
type handler struct {
	callbacks.SimpleHandler
	lines []string
}

func (h *handler) log(format string, args ...any) {
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

func (h *handler) HandleChainStart(_ context.Context, in map[string]any) { h.log("chain start %v", in) }
func (h *handler) HandleChainEnd(_ context.Context, out map[string]any)  { h.log("chain end %v", out) }
func (h *handler) HandleLLMGenerateContentStart(context.Context, []llms.MessageContent) {
	h.log("model start")
}
func (h *handler) HandleLLMGenerateContentEnd(_ context.Context, r *llms.ContentResponse) {
	line := "model end: " + r.Choices[0].Content
	for _, c := range r.Choices[0].ToolCalls {
		line += c.FunctionCall.Name + "(" + c.FunctionCall.Arguments + ")"
	}
	h.log("%s", line)
}
func (h *handler) HandleLLMError(_ context.Context, err error) { h.log("model error %v", err) }
func (h *handler) HandleToolStart(_ context.Context, in string) {
	h.log("tool start %s", in)
}
func (h *handler) HandleToolEnd(_ context.Context, out string)  { h.log("tool end %s", out) }
func (h *handler) HandleToolError(_ context.Context, err error) { h.log("tool error %v", err) }
func (h *handler) HandleAgentAction(_ context.Context, a schema.AgentAction) {
	h.log("action %s %s %s", a.ToolID, a.Tool, a.ToolInput)
}
func (h *handler) HandleAgentFinish(_ context.Context, f schema.AgentFinish) {
	h.log("finish %v", f.ReturnValues)
}
func (h *handler) HandleText(_ context.Context, text string)           { h.log("text %s", text) }
func (h *handler) HandleStreamingFunc(_ context.Context, chunk []byte) { h.log("chunk %s", chunk) }

// told runs the agent and returns what a handler is told, and the events.
func told(t *testing.T, a *agent.Agent) (lines, types []string) {
	h := &handler{}
	for event, err := range lc.Callbacks(t.Context(), h, a.Events(t.Context(), agent.Text("Hi"))) {
		if err != nil {
			types = append(types, "error")
			break
		}
		types = append(types, agent.EventType(event))
	}
	return h.lines, types
}

func TestCallbacksOfFailures(t *testing.T) {
	model := play(uses("1", "forecast", `{"city":"Rome"}`))
	lines, types := told(t, newAgent(t, model, &agent.Options{Tools: []adapter.Source{forecast()}}))
	want := []string{
		"model start", `model end: forecast({"city":"Rome"})`, `action 1 forecast {"city":"Rome"}`,
		`tool start {"city":"Rome"}`, "tool error Error: unknown city", "model start",
	}
	last := len(lines) - 1
	check.Same(t, "handler", lines[:last], want)
	if !strings.HasPrefix(lines[last], "model error") || !strings.Contains(lines[last], "the script is over") {
		t.Errorf("handler: %q", lines[last])
	}
	wantTypes := []string{"model_start", "model_end", "tool_start", "tool_end", "turn_end", "model_start", "error"}
	check.Same(t, "events", types, wantTypes)
}

// A model call of a sub-agent that failed is over, so a later error of the run is not one of a model.
func TestCallbacksAfterASubAgentFailed(t *testing.T) {
	h := &handler{}
	events := func(yield func(agent.Event, error) bool) {
		call := agent.Call{ID: "1", Name: "helper"}
		for _, e := range []agent.Event{
			&agent.ToolStart{Call: call},
			&agent.ModelStart{EventInfo: agent.EventInfo{Path: []string{"helper"}}},
			&agent.ModelStart{EventInfo: agent.EventInfo{Path: []string{"helper", "digger"}}},
			&agent.ToolEnd{Call: call, Part: run.Part{Type: run.PartResult, IsError: true, Text: "no key"}},
		} {
			if !yield(e, nil) {
				return
			}
		}
		yield(nil, errors.New("the hook says no"))
	}
	for range lc.Callbacks(t.Context(), h, events) {
	}
	check.Same(t, "handler", h.lines, []string{"tool start ", "model start", "model start", "tool error no key"})
}

// Two calls of a sub-agent overlap. One of them failed while the other one, or neither, waited for the model.
func TestCallbacksOfOverlappingCalls(t *testing.T) {
	first, second := agent.Call{ID: "1", Name: "helper"}, agent.Call{ID: "2", Name: "helper"}
	inner, deep := agent.EventInfo{Path: []string{"helper"}}, agent.EventInfo{Path: []string{"helper", "expert"}}
	expert := &agent.ToolStart{EventInfo: inner, Call: agent.Call{ID: "x", Name: "expert"}}
	failed := run.Part{Type: run.PartResult, IsError: true, Text: "no key"}
	start, asks, replies := []agent.Event{&agent.ToolStart{Call: first}, &agent.ToolStart{Call: second}}, &agent.ModelStart{EventInfo: inner}, &agent.ModelEnd{EventInfo: inner}
	for name, tt := range map[string]struct {
		events []agent.Event
		want   bool // the error is one of a model
	}{
		"the other one replied":   {[]agent.Event{asks, asks, replies}, true},
		"both replied":            {[]agent.Event{asks, asks, replies, replies}, false},
		"the other one failed":    {[]agent.Event{asks, asks, &agent.ToolEnd{Call: first, Part: failed}}, true},
		"both failed":             {[]agent.Event{asks, asks, &agent.ToolEnd{Call: first, Part: failed}, &agent.ToolEnd{Call: second, Part: failed}}, false},
		"another one was not run": {[]agent.Event{asks, &agent.ToolEnd{Call: agent.Call{ID: "3", Name: "helper"}, Part: failed}}, true},
		"both failed below, and a third one asked again": {[]agent.Event{
			expert, &agent.ToolEnd{Call: first, Part: failed}, &agent.ToolEnd{Call: second, Part: failed},
			&agent.ToolStart{Call: agent.Call{ID: "3", Name: "helper"}}, expert, &agent.ModelStart{EventInfo: deep}, &agent.ModelStart{EventInfo: deep}, &agent.ModelEnd{EventInfo: deep},
		}, false},
		"one asked again, then replied": {[]agent.Event{&agent.ToolEnd{Call: first, Part: failed}, asks, asks, replies}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := &handler{}
			events := func(yield func(agent.Event, error) bool) {
				for _, e := range append(start, tt.events...) {
					if !yield(e, nil) {
						return
					}
				}
				yield(nil, errors.New("over"))
			}
			for range lc.Callbacks(t.Context(), h, events) {
			}
			check.Equal(t, "an error of a model", h.lines[len(h.lines)-1] == "model error over", tt.want)
		})
	}
}

func TestCallbacksOfSubAgents(t *testing.T) {
	h := &handler{}
	events := func(yield func(agent.Event, error) bool) {
		inner := agent.EventInfo{Path: []string{"helper"}}
		for _, e := range []agent.Event{
			&agent.Warning{EventInfo: inner, Text: "again"},
			&agent.TextDelta{EventInfo: inner, Text: "inner"},
			&agent.Output{EventInfo: inner, Text: "inner"},
			&agent.Output{Text: "outer"},
		} {
			if !yield(e, nil) {
				return
			}
		}
	}
	for range lc.Callbacks(t.Context(), h, events) {
	}
	check.Same(t, "handler", h.lines, []string{"text again", "finish map[output:outer]"})
}
