package agent

import (
	"fmt"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"
)

// reply is a model's answer in one shape for all providers.
type reply struct {
	text, reasoning string
	calls           []llms.ToolCall // with unique ids, types and arguments
	stop            string
	model           string
	usage           Usage
}

// newReply reads a response. langchaingo's Anthropic provider gives a choice
// for every block of the message, so all choices are parts of one reply. The
// history has the call ids that are taken.
func newReply(response *llms.ContentResponse, history []llms.MessageContent) *reply {
	out := new(reply)
	if response == nil {
		return out
	}
	var text, reasoning strings.Builder
	for _, c := range response.Choices {
		if c == nil {
			continue
		}
		text.WriteString(c.Content)
		reasoning.WriteString(thoughts(c))
		out.calls = append(out.calls, toolCalls(c)...)
		if c.StopReason != "" {
			out.stop = c.StopReason
		}
		if out.model == "" {
			out.model = modelName(c.GenerationInfo)
		}
		if out.usage == (Usage{}) {
			out.usage = usageOf(c.GenerationInfo)
		}
	}
	out.text, out.reasoning = text.String(), reasoning.String()
	nameCalls(out.calls, history)
	return out
}

// toolCalls copies the calls of a choice. An only call may be in the older
// field FuncCall.
func toolCalls(c *llms.ContentChoice) []llms.ToolCall {
	calls := append([]llms.ToolCall(nil), c.ToolCalls...)
	if len(calls) == 0 && c.FuncCall != nil {
		calls = []llms.ToolCall{{FunctionCall: c.FuncCall}}
	}
	for i := range calls {
		f := llms.FunctionCall{}
		if calls[i].FunctionCall != nil {
			f = *calls[i].FunctionCall
		}
		if strings.TrimSpace(f.Arguments) == "" {
			f.Arguments = "{}"
		}
		calls[i].Type, calls[i].FunctionCall = "function", &f
	}
	return calls
}

// nameCalls gives an id to calls that have none, as those of Google's models,
// or that repeat one.
func nameCalls(calls []llms.ToolCall, history []llms.MessageContent) {
	taken := map[string]bool{"": true}
	for _, m := range history {
		for _, part := range m.Parts {
			if call, ok := part.(llms.ToolCall); ok {
				taken[call.ID] = true
			}
		}
	}
	next := len(taken)
	for i := range calls {
		for taken[calls[i].ID] {
			calls[i].ID = fmt.Sprintf("call_%d", next)
			next++
		}
		taken[calls[i].ID] = true
	}
}

func thoughts(c *llms.ContentChoice) string {
	if c.ReasoningContent != "" {
		return c.ReasoningContent
	}
	s, _ := c.GenerationInfo["ThinkingContent"].(string)
	return s
}

func modelName(info map[string]any) string {
	for _, key := range []string{"model", "Model"} {
		if s, ok := info[key].(string); ok {
			return s
		}
	}
	return ""
}

// message is the reply as a message of the history.
func (r *reply) message() llms.MessageContent {
	m := llms.MessageContent{Role: llms.ChatMessageTypeAI}
	if r.text != "" {
		m.Parts = append(m.Parts, llms.TextContent{Text: r.text})
	}
	for _, call := range r.calls {
		m.Parts = append(m.Parts, call)
	}
	return m
}

func (r *reply) event(turn int, streamed bool, d time.Duration) *ModelEnd {
	return &ModelEnd{
		Turn: turn, Model: r.model, Text: r.text, Reasoning: r.reasoning, ToolCalls: r.calls,
		StopReason: r.stop, Usage: r.usage, Streamed: streamed, Duration: d,
	}
}
