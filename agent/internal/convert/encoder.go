// Package convert carries the messages of a run to langchaingo and back.
//
// [ToLLMS] writes messages by the [Rules] of a provider of langchaingo, and [FromLLMS] reads them. [FromResponse] reads the
// reply of a model, and [KindOfStatus] the status of its failure.
// [Generate] implements a model of langchaingo by a model of ours, which an [Ask] asks.
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

// Rules describe the messages that a provider of langchaingo requires. With the zero value, messages have any form.
type Rules struct {
	SingleParts   bool // a message of the model has one part: several parts become several messages
	NoBlankText   bool // blank text is refused: it is left out
	MergedResults bool // the results of a turn are one message
	SystemFirst   bool // only one system message is read: later ones become human messages
	ResultsLast   bool // only a message of the model may follow results: their media are left out
}

// ToLLMS converts the messages for a provider. Each system message becomes one text, and the system prompt and the
// system messages at the beginning of the history become one message, because some providers accept only one.
//
// Tool messages cannot contain images. A human message after the results of a turn has their PNG, JPEG, GIF and WebP
// images with data, if the rules allow that; other media of results are left out. The result shares the data of media
// with the messages.
func ToLLMS(rules Rules, system string, messages []run.Message) []llms.MessageContent {
	e := &encoder{rules: rules, out: make([]llms.MessageContent, 0, len(messages)+1)}
	texts := e.appendTexts(nil, []run.Part{{Type: run.PartText, Text: system}})
	for len(messages) > 0 && messages[0].Role == run.RoleSystem {
		texts, messages = e.appendTexts(texts, messages[0].Parts), messages[1:]
	}
	e.addText(llms.ChatMessageTypeSystem, texts)
	for i := range messages {
		e.addMessage(&messages[i])
	}
	e.addMedia()
	return e.out
}

// encoder converts a history.
type encoder struct {
	rules Rules
	out   []llms.MessageContent
	media []llms.ContentPart // of the results of a turn
}

// interrupted separates results from a message that the provider does not allow after them, if the run ended
// before the model read the results.
const interrupted = "(The conversation was interrupted here.)"

// add adds a message, unless it has no parts: providers index the first.
func (e *encoder) add(role llms.ChatMessageType, parts ...llms.ContentPart) {
	if len(parts) == 0 {
		return
	}
	mayFollow := role == llms.ChatMessageTypeAI || role == llms.ChatMessageTypeTool
	if n := len(e.out); e.rules.ResultsLast && !mayFollow && n > 0 && e.out[n-1].Role == llms.ChatMessageTypeTool {
		e.out = append(e.out, llms.TextParts(llms.ChatMessageTypeAI, interrupted))
	}
	e.out = append(e.out, llms.MessageContent{Role: role, Parts: parts})
}

// addSingly adds a message for each part.
func (e *encoder) addSingly(role llms.ChatMessageType, parts []llms.ContentPart) {
	for i := range parts {
		e.add(role, parts[i:i+1:i+1]...)
	}
}

// addText adds a message that joins the texts, unless there are none.
func (e *encoder) addText(role llms.ChatMessageType, texts []string) {
	if len(texts) > 0 {
		e.add(role, llms.TextContent{Text: strings.Join(texts, "\n\n")})
	}
}

// appendTexts appends the texts of a system message that are not empty.
func (e *encoder) appendTexts(texts []string, parts []run.Part) []string {
	for i := range parts {
		if text, ok := e.rules.part(&parts[i]).(llms.TextContent); ok && text.Text != "" {
			texts = append(texts, text.Text)
		}
	}
	return texts
}

// addMessage adds a message, after the media of results before it.
func (e *encoder) addMessage(m *run.Message) {
	role := llmsRole(m.Role)
	switch m.Role {
	case run.RoleTool:
		e.addResults(m)
		return
	case run.RoleSystem:
		e.addMedia()
		if e.rules.SystemFirst {
			role = llms.ChatMessageTypeHuman
		}
		e.addText(role, e.appendTexts(nil, m.Parts))
		return
	}
	e.addMedia()
	parts := e.parts(m)
	if m.Role == run.RoleAssistant && e.rules.SingleParts {
		e.addSingly(role, parts)
	} else {
		e.add(role, parts...)
	}
}

// parts converts the parts of a message.
func (e *encoder) parts(m *run.Message) []llms.ContentPart {
	parts := make([]llms.ContentPart, 0, len(m.Parts))
	for i := range m.Parts {
		if part := e.rules.part(&m.Parts[i]); part != nil {
			parts = append(parts, part)
		}
	}
	return parts
}

// addResults adds results. Their images wait for the end of the turn, if the rules allow them.
func (e *encoder) addResults(m *run.Message) {
	results := e.parts(m)
	if n := len(e.out); e.rules.MergedResults && n > 0 && e.out[n-1].Role == llms.ChatMessageTypeTool {
		e.out[n-1].Parts = append(e.out[n-1].Parts, results...)
	} else if e.rules.MergedResults {
		e.add(llms.ChatMessageTypeTool, results...)
	} else {
		e.addSingly(llms.ChatMessageTypeTool, results)
	}
	for i := range m.Parts {
		if !e.rules.ResultsLast {
			e.media = e.appendMedia(e.media, &m.Parts[i])
		}
	}
}

// addMedia adds the media of results.
func (e *encoder) addMedia() {
	e.add(llms.ChatMessageTypeHuman, e.media...)
	e.media = nil
}
