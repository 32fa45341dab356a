package lc

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/internal/convert"
)

// Callbacks reports the events of a run to a handler, and yields the events unchanged:
//
//	ModelStart  HandleLLMGenerateContentStart, without the messages: events do not have them
//	TextDelta   HandleStreamingFunc
//	ModelEnd    HandleLLMGenerateContentEnd, then HandleAgentAction for each tool call
//	ToolStart   HandleToolStart, with the arguments
//	ToolEnd     HandleToolEnd or HandleToolError, with what the model reads
//	Warning     HandleText
//	Output      HandleAgentFinish
//	an error    HandleLLMError if a call of the model was under way, else nothing
//
// A call that does not run has only a HandleToolEnd or HandleToolError. Events of sub-agents
// are reported in the same way, without HandleStreamingFunc or HandleAgentFinish. The
// handler's methods are called one after the other, each before its event is yielded.
func Callbacks(ctx context.Context, h callbacks.Handler, events iter.Seq2[agent.Event, error]) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		t := &reporter{handler: h, asked: map[string]int{}, running: map[[2]string]int{}}
		for event, err := range events {
			if err != nil {
				t.reportError(ctx, err)
			} else {
				t.report(ctx, event)
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// reporter reports the events of one run to a handler.
type reporter struct {
	handler callbacks.Handler
	asked   map[string]int    // model calls in progress, by the agent; calls of one sub-agent may overlap
	running map[[2]string]int // tool calls in progress, by the agent or tool that is called, and the id
}

// report reports one event.
func (t *reporter) report(ctx context.Context, event agent.Event) {
	switch e := event.(type) {
	case *agent.ModelStart:
		asking := key(e.Path)
		t.asked[asking] = min(t.asked[asking]+1, max(1, t.callsOf(asking))) // a call that failed may be repeated
		t.handler.HandleLLMGenerateContentStart(ctx, nil)
	case *agent.TextDelta:
		if len(e.Path) == 0 {
			t.handler.HandleStreamingFunc(ctx, []byte(e.Text))
		}
	case *agent.ModelEnd:
		t.asked[key(e.Path)] = max(0, t.asked[key(e.Path)]-1)
		t.reportReply(ctx, e)
	case *agent.ToolStart:
		t.running[calleeOf(e.Path, &e.Call)]++
		t.handler.HandleToolStart(ctx, e.Arguments)
	case *agent.ToolEnd:
		t.endCall(calleeOf(e.Path, &e.Call))
		if e.Part.IsError {
			t.handler.HandleToolError(ctx, errors.New(e.Part.Text))
		} else {
			t.handler.HandleToolEnd(ctx, e.Part.Text)
		}
	case *agent.Warning:
		t.handler.HandleText(ctx, e.Text)
	case *agent.Output:
		if len(e.Path) == 0 {
			t.handler.HandleAgentFinish(ctx, schema.AgentFinish{ReturnValues: map[string]any{outputKey: e.Text}, Log: e.Text})
		}
	}
}

// reportReply reports a reply and its tool calls.
func (t *reporter) reportReply(ctx context.Context, e *agent.ModelEnd) {
	t.handler.HandleLLMGenerateContentEnd(ctx, &llms.ContentResponse{Choices: []*llms.ContentChoice{{
		Content: e.Text, ReasoningContent: e.Reasoning, StopReason: e.FinishReason, ToolCalls: convert.Calls(e.ToolCalls),
		GenerationInfo: map[string]any{
			"PromptTokens": int(e.Usage.Input), "CompletionTokens": int(e.Usage.Output),
		},
	}}})
	for _, call := range e.ToolCalls {
		t.handler.HandleAgentAction(ctx, schema.AgentAction{
			Tool: call.Name, ToolInput: call.Arguments, ToolID: call.ID, Log: e.Text,
		})
	}
}

// endCall ends a call. If it was of a sub-agent, a model call that belongs to it and is still in
// progress has failed. Model calls of other calls of that sub-agent continue.
func (t *reporter) endCall(c [2]string) {
	t.running[c]-- // a call that does not run, or was continued from another process, has no start
	if t.running[c] <= 0 {
		delete(t.running, c)
	}
	callee, left := c[0], t.callsOf(c[0])
	t.asked[callee] = min(t.asked[callee], left)
	if left == 0 {
		maps.DeleteFunc(t.asked, func(asked string, _ int) bool { return strings.HasPrefix(asked, callee) })
		maps.DeleteFunc(t.running, func(c [2]string, _ int) bool { return strings.HasPrefix(c[0], callee) }) // these have no end
	}
}

// callsOf counts the calls in progress of a sub-agent.
func (t *reporter) callsOf(callee string) (n int) {
	for c, calls := range t.running {
		if c[0] == callee {
			n += calls
		}
	}
	return n
}

// reportError reports an error that ends a run.
func (t *reporter) reportError(ctx context.Context, err error) {
	if slices.ContainsFunc(slices.Collect(maps.Values(t.asked)), func(n int) bool { return n > 0 }) {
		t.handler.HandleLLMError(ctx, err)
	}
}

// calleeOf returns the key of a call in reporter.running.
func calleeOf(path []string, c *agent.Call) [2]string {
	return [2]string{key(append(slices.Clip(path), c.Name)), c.ID}
}

// key returns the key of an agent in reporter.asked. The key of an agent above it is a prefix.
func key(path []string) string { return strings.Join(path, "\x00") + "\x00" }
