package convert

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
)

// FromResponse converts a model's reply to one message of the assistant. langchaingo's
// Anthropic provider returns a choice for every block of a message, so the choices are parts of
// one reply: ask for one candidate. Calls have the provider's ids; Google's models send none.
func FromResponse(response *llms.ContentResponse) run.Message {
	m := run.Message{Role: run.RoleAssistant, Model: firstInfo(response, "Model", "model")} // ours, Mistral's
	for _, c := range choicesOf(response) {
		if text := reasoning(c); text != "" {
			m.Parts = append(m.Parts, run.Part{Type: run.PartReasoning, Text: text})
		}
		if c.Content != "" {
			m.Parts = append(m.Parts, run.Part{Type: run.PartText, Text: c.Content})
		}
		m.Parts = appendCalls(m.Parts, c)
	}
	return m
}

// Finish returns the provider's reason for the end of a reply, the last one if several choices have one.
func Finish(response *llms.ContentResponse) (finish string) {
	for _, c := range choicesOf(response) {
		finish = cmp.Or(c.StopReason, finish)
	}
	return finish
}

// ID returns the provider's id of a reply, or "". Our models have it under "ID", Bedrock's AI21 under "id".
func ID(response *llms.ContentResponse) string { return firstInfo(response, "ID", "id") }

// Warning returns the model's note about how it was asked.
func Warning(response *llms.ContentResponse) string { return firstInfo(response, "Warning") }

// firstInfo returns the first text under one of the keys in the choices of a response, or "".
func firstInfo(response *llms.ContentResponse, keys ...string) string {
	for _, c := range choicesOf(response) {
		for _, key := range keys {
			if s, ok := c.GenerationInfo[key].(string); ok && s != "" {
				return s
			}
		}
	}
	return ""
}

// choicesOf returns the choices of a response, which may be nil.
func choicesOf(response *llms.ContentResponse) []*llms.ContentChoice {
	if response == nil {
		return nil
	}
	return response.Choices
}

// reasoning returns the model's reasoning. ThinkingContent has Anthropic's; if the text marks its
// reasoning with <thinking>, it is a copy.
func reasoning(c *llms.ContentChoice) string {
	if c.ReasoningContent != "" || strings.Contains(c.Content, "<thinking>") {
		return c.ReasoningContent
	}
	thought, _ := c.GenerationInfo["ThinkingContent"].(string)
	return thought
}

// appendCalls adds the calls of a choice. A single call may be in the older field FuncCall.
func appendCalls(parts []run.Part, c *llms.ContentChoice) []run.Part {
	calls := c.ToolCalls
	if len(calls) == 0 && c.FuncCall != nil {
		calls = []llms.ToolCall{{FunctionCall: c.FuncCall}}
	}
	for _, call := range calls {
		p, _ := fromPart(call) // without a function, it has no name
		if strings.TrimSpace(p.Arguments) == "" {
			p.Arguments = "{}"
		}
		parts = append(parts, p)
	}
	return parts
}

// KindOfStatus returns the kind of a failure with an HTTP status, 0 below 400.
func KindOfStatus(status int) model.ErrorKind {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return model.ErrorAuth
	case http.StatusNotFound, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return model.ErrorNotFound // repeating the request does not help
	case http.StatusRequestTimeout:
		return model.ErrorTimeout // Azure sends it if the model was too slow
	case http.StatusRequestEntityTooLarge:
		return model.ErrorTooLong
	case http.StatusTooManyRequests, statusOverloaded:
		return model.ErrorRateLimit
	}
	switch {
	case status >= 500:
		return model.ErrorUnavailable
	case status >= 400:
		return model.ErrorInvalid
	}
	return 0
}

// statusOverloaded is the status of an overloaded host, as Anthropic sends it.
const statusOverloaded = 529
