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
func (h *handler) HandleLLMError(_ context.Context, err error)  { h.log("model error %v", err) }
func (h *handler) HandleToolStart(_ context.Context, in string) { h.log("tool start %s", in) }
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
	check.That(t, strings.HasPrefix(lines[last], "model error") && strings.Contains(lines[last], "the script is over"), "handler: %q", lines[last])
	check.Same(t, "events", types, []string{"model_start", "model_end", "tool_start", "tool_end", "turn_end", "model_start", "error"})
}

// tell tells a handler of events, and of an error at their end.
func tell(t *testing.T, h *handler, err error, events ...agent.Event) {
	for range lc.Callbacks(t.Context(), h, func(yield func(agent.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}) {
	}
}

// Only an error during a call of the agent's own model is one of a model.
func TestCallbacksOfErrors(t *testing.T) {
	inner := agent.EventInfo{Path: []string{"helper"}}
	for name, tt := range map[string]struct {
		events []agent.Event
		want   bool
	}{
		"its model is asked again":         {[]agent.Event{&agent.ModelStart{}, &agent.ModelStart{}}, true},
		"its model has replied":            {[]agent.Event{&agent.ModelStart{}, &agent.ModelEnd{}}, false},
		"the model of a sub-agent":         {[]agent.Event{&agent.ModelStart{}, &agent.ModelEnd{}, &agent.ModelStart{EventInfo: inner}}, false},
		"the reply of a sub-agent's model": {[]agent.Event{&agent.ModelStart{}, &agent.ModelEnd{EventInfo: inner}}, true},
	} {
		h := &handler{}
		tell(t, h, errors.New("over"), tt.events...)
		check.Equal(t, name+": an error of a model", h.lines[len(h.lines)-1] == "model error over", tt.want)
	}
}

func TestCallbacksOfSubAgents(t *testing.T) {
	h := &handler{}
	inner := agent.EventInfo{Path: []string{"helper"}}
	tell(t, h, nil, &agent.Warning{EventInfo: inner, Text: "again"}, &agent.TextDelta{EventInfo: inner, Text: "inner"},
		&agent.Output{EventInfo: inner, Text: "inner"}, &agent.Output{Text: "outer"})
	check.Same(t, "handler", h.lines, []string{"text again", "finish map[output:outer]"})
}
