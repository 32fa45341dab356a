package sampling

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// complete asks the model. If a required call is missing, or the protocol cannot express a call, it
// asks a second time within the limits, because models err at random.
func (s *Sampler) complete(ctx context.Context, r *run) (*mcp.CreateMessageResult, error) {
	tools, err := s.rewriteTools(ctx, r)
	if err != nil {
		return nil, err
	}
	question := chatRequest(r.request, tools, &s.options)
	question.Memory = s.memories.memory(r.requester)
	result, err := s.completeOnce(ctx, r, question, tools)
	if isBadCall(err) && r.ticket.reserve(r.model.ID, r.reservation()) == nil {
		result, err = s.completeOnce(ctx, r, question, tools)
	}
	if err != nil {
		return nil, s.modelError(ctx, r, err)
	}
	return result, nil
}

// completeOnce asks the model once, and charges the request for it.
func (s *Sampler) completeOnce(ctx context.Context, r *run, question *chat.Request, tools offer) (*mcp.CreateMessageResult, error) {
	r.record.Completions++
	reply, err := s.ask(ctx, r.request, question)
	s.charge(r, reply, err)
	if err != nil {
		return nil, err
	}
	if reply.Warning != "" {
		s.options.Logger.Warn("sampling: " + reply.Warning)
	}
	result, err := samplingResult(reply, r.request.Params, tools)
	if err == nil {
		r.record.AnsweredBy = excerpt.Cut(reply.Model)
	}
	return result, err
}

// isBadCall reports whether the model failed to call a required tool, or called one wrongly.
func isBadCall(err error) bool {
	if _, ok := errors.AsType[*callError](err); ok {
		return true
	}
	failure, ok := errors.AsType[*chat.Error](err)
	return ok && (failure.Code == chat.CodeNoToolCall || failure.Code == chat.CodeToolUse)
}

// charge records the cost of a completion in the accounts.
func (s *Sampler) charge(r *run, reply *chat.Reply, err error) {
	failure, ok := errors.AsType[*chat.Error](err)
	var used usage
	switch {
	case err == nil:
		used = r.spending(reply.Usage, reply.Size)
	case ok && failure.Usage != nil:
		used = r.spendingIfFailed(failure.Usage)
	case ok && (failure.Status >= 400 || failure.Code == chat.CodeRequest) && !failure.Partial && !isBadCall(err):
		// The host did not accept it.
	default:
		used = r.spendingIfFailed(nil)
	}
	r.ticket.spend(r.model.ID, used)
}

// ask asks the model, streaming the text to Options.OnText if that is set.
func (s *Sampler) ask(ctx context.Context, req *Request, question *chat.Request) (*chat.Reply, error) {
	if s.options.OnText == nil {
		return s.chat.Complete(ctx, question)
	}
	return s.chat.Stream(ctx, question, chat.Deltas{Text: func(piece string) error {
		s.options.OnText(ctx, req, piece)
		return nil
	}})
}

// callError explains why the protocol cannot express a call of the model.
type callError struct{ reason string }

func (e *callError) Error() string { return "the model called " + e.reason }

// samplingResult translates the model's reply to a result of the protocol. The error is a [*callError].
func samplingResult(r *chat.Reply, p *mcp.CreateMessageParams, tools offer) (*mcp.CreateMessageResult, error) {
	out := &mcp.CreateMessageResult{Role: "assistant", Model: r.Model, StopReason: stopReason(r)}
	if text := cmp.Or(r.Text, r.Refusal); text != "" {
		out.Content = append(out.Content, &mcp.TextContent{Text: text})
	}
	calls := 0
	answered := r.ToolCalls
	if len(p.Tools) == 0 || toolChoice(p).Choice == chat.None { // none is allowed: the reply is its text
		answered = nil
	}
	for _, call := range answered {
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

// stopReasons has the protocol's words for the ends of replies.
var stopReasons = map[string]string{
	chat.FinishStop: "endTurn", chat.FinishLength: "maxTokens", chat.FinishToolCalls: "toolUse", chat.FinishContentFilter: "contentFilter",
}

// stopReason returns the protocol's reason for the end of the reply, or the host's own reason.
func stopReason(r *chat.Reply) string {
	switch {
	case r.Refusal != "":
		return "refusal"
	case r.Stopped:
		return "stopSequence"
	}
	return cmp.Or(stopReasons[r.Finish], r.Finish)
}
