package sampling

import (
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// samplingResult puts the model's reply into the protocol. It fails when the
// model called a tool in a way that the protocol has no words for.
func samplingResult(r *chat.Reply, p *mcpclient.CreateMessageParams, tools offer) (*mcpclient.CreateMessageResult, error) {
	out := &mcpclient.CreateMessageResult{Role: "assistant", Model: r.Model, StopReason: stopReason(r)}
	if text := textOf(r); text != "" {
		out.Content = append(out.Content, &mcpclient.TextContent{Text: text})
	}
	used := 0
	for _, call := range r.ToolCalls {
		if !mayCall(p) {
			break // a call of nothing
		}
		if tools[call.Name] == nil {
			return nil, fmt.Errorf("the model called a tool %q that it was not given", cut(call.Name))
		}
		if !isObject(json.RawMessage(call.Arguments)) {
			return nil, fmt.Errorf("the model called %q with arguments that are not a JSON object", cut(call.Name))
		}
		out.Content = append(out.Content, &mcpclient.ToolUseContent{
			ID: call.ID, Name: call.Name, Input: tools.taken(call.Name, call.Arguments), Meta: withHostExtra(call.Extra),
		})
		used++
	}
	if used > 0 && r.Finish != chat.FinishLength {
		out.StopReason = "toolUse"
	}
	if used == 0 && out.StopReason == "toolUse" {
		out.StopReason = "endTurn"
	}
	if len(out.Content) == 0 {
		out.Content = []mcpclient.Content{&mcpclient.TextContent{}}
	}
	return out, nil
}

func textOf(r *chat.Reply) string {
	if r.Text == "" {
		return r.Refusal
	}
	return r.Text
}

func mayCall(p *mcpclient.CreateMessageParams) bool {
	return len(p.Tools) > 0 && toolChoice(p).Choice != chat.None
}

// stopReason is the protocol's word for why the model stopped, or the host's
// own.
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
