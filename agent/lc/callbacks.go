package lc

import (
	"context"
	"errors"
	"iter"

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
//	an error    HandleLLMError if it ends a call of the agent's own model, else nothing
//
// A call that does not run has only a HandleToolEnd or HandleToolError. Events of sub-agents
// are reported in the same way, without HandleStreamingFunc or HandleAgentFinish. The
// handler's methods are called one after the other, each before its event is yielded.
func Callbacks(ctx context.Context, h callbacks.Handler, events iter.Seq2[agent.Event, error]) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		t := &reporter{handler: h}
		for event, err := range events {
			if err == nil {
				t.report(ctx, event)
			} else if t.asking {
				h.HandleLLMError(ctx, err)
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
	asking  bool // a call of the agent's own model is in progress
}

// report reports one event.
func (t *reporter) report(ctx context.Context, event agent.Event) {
	switch e := event.(type) {
	case *agent.ModelStart:
		t.asking = t.asking || len(e.Path) == 0
		t.handler.HandleLLMGenerateContentStart(ctx, nil)
	case *agent.TextDelta:
		if len(e.Path) == 0 {
			t.handler.HandleStreamingFunc(ctx, []byte(e.Text))
		}
	case *agent.ModelEnd:
		t.asking = t.asking && len(e.Path) > 0
		t.reportReply(ctx, e)
	case *agent.ToolStart:
		t.handler.HandleToolStart(ctx, e.Arguments)
	case *agent.ToolEnd:
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
