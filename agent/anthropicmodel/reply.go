package anthropicmodel

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// response returns the answer as the response to r. name is the requested model: not every answer
// names its own.
func (a *answer) response(r *model.Request, name, warning string) *model.Response {
	parts := a.parts()
	if finish(a.stop) == model.FinishRefusal {
		refused := strings.TrimSuffix("the provider refuses to answer: "+a.refusal, ": ")
		warning = strings.TrimSuffix(refused+"; "+warning, "; ")
	}
	sent := len(r.System)
	for i := range r.Messages {
		sent += textSize(r.Messages[i].Parts)
	}
	return &model.Response{
		Message: run.Message{Role: run.RoleAssistant, Parts: parts, Model: cmp.Or(a.model, name)},
		ID:      a.id, Finish: finish(a.stop), Usage: a.usage.spent(sent, textSize(parts)), Warning: warning,
	}
}

// parts returns the blocks as parts of a run. It leaves out the calls of a refused reply, and a
// call that the bound of the reply has cut off, also before its arguments.
func (a *answer) parts() (out []run.Part) {
	for i, b := range a.blocks {
		p := run.Part{Type: run.PartReasoning}
		switch b.kind {
		case "text":
			p = run.Part{Type: run.PartText, Text: b.text.String()}
			if p.Text == "" {
				continue
			}
		case "thinking":
			p.Text = b.text.String()
			p.Provider = textMember(signatureKey, b.signature.String())
		case "redacted_thinking":
			p.Provider = textMember(redactedKey, b.signature.String())
		case "tool_use":
			input := cmp.Or(strings.TrimSpace(b.input.String()), string(b.begun))
			switch {
			case finish(a.stop) == model.FinishRefusal:
				continue // the model took back what it began
			case finish(a.stop) == model.FinishLength && i == len(a.blocks)-1 && !json.Valid([]byte(input)):
				continue
			case input == "":
				input = "{}"
			}
			p = run.Part{Type: run.PartCall, ID: b.id, Name: b.name, Arguments: input}
		default:
			p.Provider = map[string]json.RawMessage{blockKey: b.rawWithInput()}
		}
		out = append(out, p)
	}
	return out
}

// rawWithInput returns a block of an unknown type, with the input that came in pieces.
func (b *replyBlock) rawWithInput() json.RawMessage {
	var members map[string]json.RawMessage
	input := b.input.Bytes()
	if len(input) == 0 || !json.Valid(input) || json.Unmarshal(b.raw, &members) != nil {
		return b.raw
	}
	members["input"] = input
	raw, _ := jsonrpc.Marshal(members) // the members are valid JSON
	return raw
}

// textMember returns an object with one member, a text.
func textMember(key, text string) map[string]json.RawMessage {
	raw, _ := json.Marshal(text) // a string always marshals
	return map[string]json.RawMessage{key: raw}
}

// finishes has the words of package model for the reasons for the end of a reply.
var finishes = map[string]string{
	"end_turn": model.FinishStop, "stop_sequence": model.FinishStop, "tool_use": model.FinishCalls, "refusal": model.FinishRefusal,
	"max_tokens": model.FinishLength, "model_context_window_exceeded": model.FinishLength,
}

func finish(stop string) string { return cmp.Or(finishes[stop], stop) }

// spent returns the counts as a run has them, for a request and a reply of that many bytes of text. A
// count that is too low for its text is left out. The API counts cached tokens apart from the input.
func (u *usage) spent(sent, received int) (s run.Usage) {
	if input := u.Input + u.Cached + u.Written; !chat.TooFew(int(input), sent) {
		s.Input, s.Cached, s.CacheWrite = int64(input), int64(u.Cached), int64(u.Written)
	}
	if !chat.TooFew(int(u.Output), received) {
		s.Output, s.Reasoning = int64(u.Output), int64(min(u.Details.Thoughts, u.Output))
	}
	s.Total = s.Input + s.Output
	return s
}

// textSize returns the bytes of texts and calls in parts, without thoughts, as the provider drops
// earlier ones.
func textSize(parts []run.Part) (size int) {
	for i := range parts {
		if parts[i].Type != run.PartReasoning {
			size += len(parts[i].Text) + len(parts[i].Arguments)
		}
	}
	return size
}

// failure converts a failure of the provider, by Anthropic's codes.
var failure = hostfail.Failure(map[string]model.ErrorKind{
	"request_too_large": model.ErrorTooLong, "not_found_error": model.ErrorNotFound,
	"timeout_error": model.ErrorUnavailable, "api_error": model.ErrorUnavailable,
	"overloaded_error": model.ErrorRateLimit, "rate_limit_error": model.ErrorRateLimit,
	"authentication_error": model.ErrorAuth, "permission_error": model.ErrorAuth, "billing_error": model.ErrorAuth,
})
