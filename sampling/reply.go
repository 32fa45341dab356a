package sampling

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// callError explains why the protocol cannot express a call of the model.
type callError struct{ reason string }

func (e *callError) Error() string { return "the model called " + e.reason }

// samplingResult translates the model's reply to a result of the protocol. The error is
// a [*callError].
func samplingResult(r *chat.Reply, p *mcp.CreateMessageParams, tools offer) (*mcp.CreateMessageResult, error) {
	out := &mcp.CreateMessageResult{Role: "assistant", Model: r.Model, StopReason: stopReason(r)}
	if text := cmp.Or(r.Text, r.Refusal); text != "" {
		out.Content = append(out.Content, &mcp.TextContent{Text: text})
	}
	calls := 0
	for _, call := range r.ToolCalls {
		if !mayCall(p) {
			break // none is allowed: the reply is its text
		}
		if tools[call.Name] == nil {
			return nil, &callError{fmt.Sprintf("a tool %q that it was not given", excerpt.Cut(call.Name))}
		}
		if !isObject(json.RawMessage(call.Arguments)) {
			return nil, &callError{fmt.Sprintf("%q with arguments that are not a JSON object", excerpt.Cut(call.Name))}
		}
		out.Content = append(out.Content, &mcp.ToolUseContent{
			ID: call.ID, Name: call.Name, Input: tools.restoreArguments(call.Name, call.Arguments), Meta: withHostExtra(call.Extra),
		})
		calls++
	}
	if calls > 0 && r.Finish != chat.FinishLength {
		out.StopReason = "toolUse"
	}
	if calls == 0 && out.StopReason == "toolUse" {
		out.StopReason = "endTurn"
	}
	if len(out.Content) == 0 {
		out.Content = []mcp.Content{&mcp.TextContent{}}
	}
	return out, nil
}

// mayCall reports whether the reply to a request may call tools.
func mayCall(p *mcp.CreateMessageParams) bool {
	return len(p.Tools) > 0 && toolChoice(p).Choice != chat.None
}

// stopReason returns the protocol's reason for the end of the reply, or the host's own reason.
func stopReason(r *chat.Reply) string {
	switch {
	case r.Refusal != "":
		return "refusal"
	case r.Stopped:
		return "stopSequence"
	}
	switch r.Finish {
	case chat.FinishStop:
		return "endTurn"
	case chat.FinishLength:
		return "maxTokens"
	case chat.FinishToolCalls:
		return "toolUse"
	case chat.FinishContentFilter:
		return "contentFilter"
	}
	return r.Finish
}
