package convert

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/run"
)

// FromResponse converts a model's reply to one message of the assistant. langchaingo's
// Anthropic provider returns a choice for every block of a message, so the choices are parts of
// one reply: ask for one candidate. Calls have the provider's ids; Google's models send none.
func FromResponse(response *llms.ContentResponse) run.Message {
	m := run.Message{Role: run.RoleAssistant}
	for _, c := range choicesOf(response) {
		if p, ok := reasoning(c); ok {
			m.Parts = append(m.Parts, p)
		}
		if c.Content != "" {
			m.Parts = append(m.Parts, run.Part{Type: run.PartText, Text: c.Content})
		}
		m.Parts = appendCalls(m.Parts, c)
		if m.Model == "" {
			m.Model = modelName(c.GenerationInfo)
		}
	}
	return m
}

// Finish returns the provider's reason for the end of a reply.
func Finish(response *llms.ContentResponse) string {
	finish := ""
	for _, c := range choicesOf(response) {
		if c.StopReason != "" {
			finish = c.StopReason
		}
	}
	return finish
}

// ID returns the provider's id of a reply, or "".
func ID(response *llms.ContentResponse) string {
	for _, c := range choicesOf(response) {
		for _, key := range []string{"ID", "id"} {
			if s, ok := c.GenerationInfo[key].(string); ok && s != "" {
				return s
			}
		}
	}
	return ""
}

// Warning returns the model's note about how it was asked.
func Warning(response *llms.ContentResponse) string {
	for _, c := range choicesOf(response) {
		if text, ok := c.GenerationInfo["Warning"].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// choicesOf returns the choices of a response that are not nil.
func choicesOf(response *llms.ContentResponse) []*llms.ContentChoice {
	if response == nil {
		return nil
	}
	if !slices.Contains(response.Choices, nil) {
		return response.Choices
	}
	return slices.DeleteFunc(slices.Clone(response.Choices), func(c *llms.ContentChoice) bool { return c == nil })
}

// reasoning returns the model's reasoning. Reasoning that is marked in the text itself stays there.
func reasoning(c *llms.ContentChoice) (run.Part, bool) {
	p := run.Part{Type: run.PartReasoning, Text: c.ReasoningContent}
	if p.Text == "" && !strings.Contains(c.Content, "<thinking>") {
		p.Text, _ = c.GenerationInfo["ThinkingContent"].(string)
	}
	signature, _ := c.GenerationInfo["ThinkingSignature"].(string)
	if signature != "" {
		p = withProvider(p, signatureKey, quote(signature))
	}
	return p, p.Text != "" || len(p.Provider) > 0
}

// appendCalls adds the calls of a choice. A single call may be in the older field FuncCall.
func appendCalls(parts []run.Part, c *llms.ContentChoice) []run.Part {
	calls := c.ToolCalls
	if len(calls) == 0 && c.FuncCall != nil {
		calls = []llms.ToolCall{{FunctionCall: c.FuncCall}}
	}
	parts = slices.Grow(parts, len(calls))
	for _, call := range calls {
		p, _ := fromPart(call) // without a function, it has no name
		if strings.TrimSpace(p.Arguments) == "" {
			p.Arguments = "{}"
		}
		parts = append(parts, p)
	}
	return parts
}

// modelName returns the name of the model that replied, "" if the provider does not say.
func modelName(info map[string]any) string {
	for _, key := range []string{"model", "Model"} {
		if s, ok := info[key].(string); ok {
			return s
		}
	}
	return ""
}

// withProvider returns the part with a value of its provider.
func withProvider(p run.Part, name string, value json.RawMessage) run.Part {
	values := maps.Clone(p.Provider)
	if values == nil {
		values = make(map[string]json.RawMessage, 1)
	}
	values[name] = value
	p.Provider = values
	return p
}
