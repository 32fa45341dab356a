// Package convert carries the messages of a run to langchaingo and back.
//
// [ToLLMS] writes messages as a provider of langchaingo takes them, [FromLLMS] reads messages, and
// [FromResponse] reads the reply of a model, [KindOfStatus] its failure. [Generate] makes a model of
// ours one of langchaingo.
//
// The detail of an image, "low" or "high", is a string in [run.Part.Provider] under "detail".
// langchaingo has no content for reasoning, so ToLLMS leaves reasoning out. A summary is written as
// text.
package convert

import (
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/run"
)

// ToLLMS converts the messages for a provider. Images of results follow the results in a human message, if
// the rules allow that, as tool messages cannot contain them; other media of results are left out. A system
// prompt comes first, in one message with the system messages at the beginning of the history, because some
// providers accept only one. The result shares the data of media with the messages.
func ToLLMS(rules Rules, system string, messages []run.Message) []llms.MessageContent {
	e := &encoder{rules: rules, out: make([]llms.MessageContent, 0, len(messages)+1)}
	if system != "" {
		texts := []string{system}
		for len(messages) > 0 && messages[0].Role == run.RoleSystem {
			texts, messages = appendTexts(texts, messages[0].Parts), messages[1:]
		}
		e.out = append(e.out, llms.TextParts(llms.ChatMessageTypeSystem, strings.Join(texts, "\n\n")))
	}
	for n := 0; len(messages) > 0; messages = messages[n:] {
		n = 0
		for n < len(messages) && messages[n].Role == run.RoleTool {
			n++
		}
		if n > 0 {
			e.addTurn(messages[:n])
		} else {
			n = 1
			e.addMessage(&messages[0])
		}
	}
	return e.out
}

// encoder converts a history.
type encoder struct {
	rules Rules
	out   []llms.MessageContent
}

func appendTexts(texts []string, parts []run.Part) []string {
	for _, p := range parts {
		if p.Type == run.PartText || p.Type == run.PartSummary {
			texts = append(texts, p.Text)
		}
	}
	return texts
}

// interrupted separates results from a human message, if the run ended before the model read
// the results and the provider allows no human message after them.
const interrupted = "(The conversation was interrupted here.)"

// addMessage adds a message without results.
func (e *encoder) addMessage(m *run.Message) {
	role := llmsRole(m.Role)
	if n := len(e.out); role == llms.ChatMessageTypeHuman && e.rules.ResultsLast && n > 0 && e.out[n-1].Role == llms.ChatMessageTypeTool {
		e.out = append(e.out, llms.TextParts(llms.ChatMessageTypeAI, interrupted))
	}
	if m.Role == run.RoleSystem && e.rules.SingleParts {
		if text := strings.Join(appendTexts(nil, m.Parts), "\n\n"); text != "" {
			e.out = append(e.out, llms.TextParts(role, text))
		}
		return
	}
	parts := make([]llms.ContentPart, 0, len(m.Parts))
	for i := range m.Parts {
		if part := e.rules.part(&m.Parts[i]); part != nil {
			parts = append(parts, part)
		}
	}
	if m.Role == run.RoleAssistant && e.rules.SingleParts {
		e.addSingly(role, parts)
	} else if len(parts) > 0 { // providers index the first part
		e.out = append(e.out, llms.MessageContent{Role: role, Parts: parts})
	}
}

// addSingly adds a message for each part.
func (e *encoder) addSingly(role llms.ChatMessageType, parts []llms.ContentPart) {
	for i := range parts {
		e.out = append(e.out, llms.MessageContent{Role: role, Parts: parts[i : i+1 : i+1]})
	}
}

// addTurn adds the results of a turn, followed by the media that the model accepts.
func (e *encoder) addTurn(messages []run.Message) {
	var media, results []llms.ContentPart
	for i := range messages {
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if part := e.rules.part(p); part != nil {
				results = append(results, part)
			}
			if !e.rules.ResultsLast {
				media = e.appendMedia(media, p)
			}
		}
	}
	if e.rules.MergedResults && len(results) > 0 {
		e.out = append(e.out, llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: results})
	} else {
		e.addSingly(llms.ChatMessageTypeTool, results)
	}
	if len(media) > 0 {
		e.out = append(e.out, llms.MessageContent{Role: llms.ChatMessageTypeHuman, Parts: media})
	}
}

// Rules describe the forms of messages that a provider of langchaingo requires. The zero value requires none.
type Rules struct {
	SingleParts   bool // an AI message has one part
	NoBlankText   bool // blank text is refused
	MergedResults bool // the results of a turn are one message
	SchemaMaps    bool // the parameters of a tool are a map[string]any
	ResultsLast   bool // no human message may follow tool messages, so results have no images
	NoToolsAtEnd  bool // tools are left out when the model has to answer without them
}
