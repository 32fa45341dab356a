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
//	an error    HandleLLMError, if a call of the model was under way
//
// A call that does not run has only a HandleToolEnd or HandleToolError. Events of sub-agents
// are reported in the same way, without HandleStreamingFunc and HandleAgentFinish. The
// handler's methods are called one after the other, each before its event is yielded.
func Callbacks(ctx context.Context, h callbacks.Handler, events iter.Seq2[agent.Event, error]) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		t := &reporter{handler: h, asked: map[string]bool{}}
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
	asked   map[string]bool // the agents whose model is being called, by their paths
}

// report reports one event.
func (t *reporter) report(ctx context.Context, event agent.Event) {
	switch e := event.(type) {
	case *agent.ModelStart:
		t.asked[key(e.Path)] = true
		t.handler.HandleLLMGenerateContentStart(ctx, nil)
	case *agent.TextDelta:
		if len(e.Path) == 0 {
			t.handler.HandleStreamingFunc(ctx, []byte(e.Text))
		}
	case *agent.ModelEnd:
		delete(t.asked, key(e.Path))
		t.reportReply(ctx, e)
	case *agent.ToolStart:
		t.handler.HandleToolStart(ctx, e.Arguments)
	case *agent.ToolEnd:
		t.endModelCalls(append(slices.Clip(e.Path), e.Name))
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
		Content: e.Text, ReasoningContent: e.Reasoning, StopReason: e.StopReason, ToolCalls: convert.Calls(e.ToolCalls),
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

// endModelCalls forgets the model calls of a sub-agent and of those below it: one that is still in
// progress has failed.
func (t *reporter) endModelCalls(sub []string) {
	prefix := key(sub)
	maps.DeleteFunc(t.asked, func(asked string, _ bool) bool { return strings.HasPrefix(asked, prefix) })
}

// reportError reports an error that ends a run.
func (t *reporter) reportError(ctx context.Context, err error) {
	if len(t.asked) > 0 {
		t.handler.HandleLLMError(ctx, err)
	}
}

// key returns the key of an agent in reporter.asked. The key of an agent above it is a prefix.
func key(path []string) string { return strings.Join(path, "\x00") + "\x00" }
