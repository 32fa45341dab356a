package sampling

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
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

// checkReply reports the first breach of the specification in a reply.
func checkReply(r *mcp.CreateMessageResult, p *mcp.CreateMessageParams) error {
	switch {
	case r.Role != "assistant" && r.Role != "":
		return fmt.Errorf("role %q is not assistant", excerpt.Cut(r.Role))
	case r.Model == "":
		return errors.New("name of the model is missing")
	case len(r.Content) == 0:
		return errors.New("there is no content")
	}
	taken := usedIDs(p)
	uses := len(taken)
	for i, c := range r.Content {
		if err := checkReplyBlock(c, p, taken); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	if r.StopReason == "toolUse" && len(taken) == uses {
		return errors.New("stop reason is toolUse, but no tool is used")
	}
	return nil
}

// checkReplyBlock checks a block of a reply. taken holds the ids of earlier tool uses. It adds the
// id of another one.
func checkReplyBlock(c mcp.Content, p *mcp.CreateMessageParams, taken map[string]bool) error {
	if isNil(c) {
		return errNilBlock
	}
	switch c := c.(type) {
	case *mcp.TextContent, *mcp.ImageContent, *mcp.AudioContent:
		return checkBlock(c)
	case *mcp.ToolUseContent:
		switch {
		case !mayCall(p) || !slices.ContainsFunc(p.Tools, func(t *mcp.Tool) bool { return t.Name == c.Name }):
			return fmt.Errorf("tool use %q of the tool %q, which was not offered", excerpt.Cut(c.ID), excerpt.Cut(c.Name))
		case c.ID == "" || taken[c.ID]:
			return fmt.Errorf("tool use %q: its id is empty or used before", excerpt.Cut(c.ID))
		case !isObject(c.Input):
			return fmt.Errorf("tool use %q: its input is not a JSON object", excerpt.Cut(c.ID))
		}
		taken[c.ID] = true
		return nil
	}
	return fmt.Errorf("content of type %q does not belong in a reply", inquiry.ContentType(c))
}

// usedIDs are the ids of the tool uses in a request.
func usedIDs(p *mcp.CreateMessageParams) map[string]bool {
	ids := map[string]bool{}
	for _, m := range p.Messages {
		for _, c := range m.Content {
			if use, ok := c.(*mcp.ToolUseContent); ok {
				ids[use.ID] = true
			}
		}
	}
	return ids
}
