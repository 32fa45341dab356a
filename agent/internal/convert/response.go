package convert

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
)

// FromResponse converts a model's reply, which may be nil. langchaingo's Anthropic provider returns a choice for every block
// of a message, so the choices are parts of one message: ask for one candidate. Calls have the provider's ids; Google's
// models send none.
func FromResponse(response *llms.ContentResponse) *model.Response {
	out := &model.Response{Message: run.Message{Role: run.RoleAssistant}}
	if response == nil {
		return out
	}
	m := &out.Message
	for _, c := range response.Choices {
		info := func(key string) (text string) {
			text, _ = c.GenerationInfo[key].(string)
			return text
		}
		m.Model = cmp.Or(m.Model, info("Model"), info("model")) // ours, Mistral's
		out.ID = cmp.Or(out.ID, info("ID"), info("id"))         // ours, those of Bedrock's AI21
		out.Warning = cmp.Or(out.Warning, info("Warning"))
		out.Finish = cmp.Or(c.StopReason, out.Finish)
		if u := usage(c.GenerationInfo); out.Usage.Total == 0 && u.Total > 0 {
			out.Usage = u
		}
		if text := reasoning(c); text != "" {
			m.Parts = append(m.Parts, run.Part{Type: run.PartReasoning, Text: text})
		}
		if c.Content != "" {
			m.Parts = append(m.Parts, run.Part{Type: run.PartText, Text: c.Content})
		}
		m.Parts = appendCalls(m.Parts, c)
	}
	return out
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
