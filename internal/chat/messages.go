package chat

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// encodeMessages sets the conversation. System messages at its start become one; later ones stay where they are.
func (d *draft) encodeMessages(r *Request, rule modelRule) error {
	system, rest := leadingSystem(r.Messages)
	if d.mustCall && d.profile.Required == requiredBySystem {
		system = append(system, "Answer by calling at least one of the tools.")
	}
	e := &messageEncoder{
		draft: d, ids: newIDs(d.profile.IDs), toolNames: map[string]string{}, system: systemRole(d.profile, r.Model, rule),
	}
	if len(system) > 0 {
		e.addText(e.system, strings.Join(system, "\n\n"))
	}
	leading := len(r.Messages) - len(rest)
	d.extendConversation(r.Messages[:leading])
	for i := range rest {
		if err := e.encode(&rest[i]); err != nil {
			return fmt.Errorf("message %d: %w", leading+i, err)
		}
		d.extendConversation(rest[i : i+1])
	}
	if len(d.messages) == 0 {
		return errors.New("no messages")
	}
	if d.profile.StrictTurns && d.messages[len(d.messages)-1].Role == "assistant" {
		e.addText("user", "Continue.")
	}
	e.fillReasoning()
	return nil
}

// leadingSystem splits the system messages from the start of a conversation.
func leadingSystem(messages []Message) (system []string, rest []Message) {
	for len(messages) > 0 && messages[0].Role == System {
		if text := joinText(messages[0].Parts); text != "" {
			system = append(system, text)
		}
		messages = messages[1:]
	}
	return system, messages
}

// messageEncoder appends messages to the conversation of a draft, in the form of Chat Completions.
type messageEncoder struct {
	draft     *draft
	ids       *ids
	system    string            // the role of instructions
	toolNames map[string]string // the tools' names, by the ids of their calls
}

func (e *messageEncoder) add(m chatMessage) { e.draft.messages = append(e.draft.messages, m) }

// addText adds a message of text, which may be empty.
func (e *messageEncoder) addText(role, text string) { e.add(chatMessage{Role: role, Content: text}) }

// encode adds one message.
func (e *messageEncoder) encode(m *Message) error {
	switch m.Role {
	case System:
		e.addText(e.system, joinText(m.Parts))
	case User:
		return e.addUser(m)
	case Assistant:
		return e.addAssistant(m)
	case ToolRole:
		return e.addResult(m)
	default:
		return fmt.Errorf("role %q is not one of system, user, assistant, tool", excerpt.Cut(string(m.Role)))
	}
	return nil
}

// addResult adds the result of a tool.
func (e *messageEncoder) addResult(m *Message) error {
	if m.ToolCallID == "" {
		return errors.New("tool result has no call id")
	}
	text := joinText(m.Parts)
	if text == "" { // some hosts refuse empty results
		text = "(no output)"
	}
	e.draft.ids[m.ToolCallID] = true
	result := chatMessage{Role: "tool", Content: text, CallID: e.ids.outgoing(m.ToolCallID)}
	if !e.draft.profile.Nameless {
		result.Name = e.toolNames[m.ToolCallID]
	}
	e.add(result)
	return nil
}

// addUser adds a message of the user.
func (e *messageEncoder) addUser(m *Message) error {
	if sent := e.draft.messages; e.draft.profile.StrictTurns && len(sent) > 0 && sent[len(sent)-1].Role == "tool" {
		e.addText("assistant", "I have the results.")
	}
	var parts []chatPart
	media := false
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.File != nil {
			return errors.New("the Chat Completions API takes no files")
		}
		if err := e.draft.profile.checkPart(p); err != nil {
			return err
		}
		media = media || p.Image != nil || p.Audio != nil
		if *p != (Part{}) { // hosts refuse parts with empty text
			parts = append(parts, wirePart(p))
		}
	}
	if !media && (len(parts) < 2 || e.draft.profile.JoinText) {
		e.addText("user", joinText(slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool { return p == Part{} })))
		return nil
	}
	e.add(chatMessage{Role: "user", Content: parts})
	return nil
}

// webURL matches URLs that the host would have to fetch. Others hold the data, or name a file at the host.
var webURL = regexp.MustCompile(`(?i)^https?:`)

// checkPart returns an error if the host does not accept a part of a user's message.
func (p *Profile) checkPart(part *Part) error {
	image := part.Image
	switch {
	case part.Audio != nil && !p.Audio:
		return fmt.Errorf("host %s takes no audio", p.Name)
	case image == nil:
		return nil
	case image.Data == nil && image.URL == "":
		return errors.New("image has neither data nor a URL")
	case p.Images == noImages:
		return fmt.Errorf("host %s takes no images", p.Name)
	case p.Images == imageData && image.Data == nil && webURL.MatchString(image.URL):
		return fmt.Errorf("host %s takes images by their data, not by a URL", p.Name)
	}
	return nil
}

// wirePart returns a part as the request's JSON has it.
func wirePart(p *Part) chatPart {
	switch {
	case p.Audio != nil:
		data := base64.StdEncoding.EncodeToString(p.Audio.Data)
		return chatPart{Type: "input_audio", Audio: map[string]string{"data": data, "format": p.Audio.Format}}
	case p.Image == nil:
		return chatPart{Type: "text", Text: p.Text}
	}
	image := map[string]string{"url": p.Image.url()}
	if p.Image.Detail != "" {
		image["detail"] = p.Image.Detail
	}
	return chatPart{Type: "image_url", Image: image}
}

// url returns the URL of an image, a data URL if its bytes are known.
func (i *Image) url() string {
	if i.Data == nil {
		return i.URL
	}
	return dataURL(i.MIMEType, i.Data)
}

func dataURL(mimeType string, data []byte) string {
	return "data:" + mimeType + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// addAssistant adds a message of the assistant.
func (e *messageEncoder) addAssistant(m *Message) error {
	if slices.ContainsFunc(m.Parts, Part.isMedia) {
		return errors.New("assistant message takes text only")
	}
	text := joinText(m.Parts)
	msg := chatMessage{Role: "assistant", Content: text}
	thought := hostData{reasoning: m.Reasoning, details: m.Details}
	if len(m.ToolCalls) == 0 {
		thought = thought.or(e.draft.recall(keyOfText(text)))
	} else {
		kept, err := e.addCalls(&msg, m.ToolCalls)
		if err != nil {
			return err
		}
		thought = thought.or(kept)
		if text == "" && !e.draft.profile.BlankContent {
			msg.Content = nil
		}
	}
	e.draft.hasReasoning = e.setReasoning(&msg, thought) || e.draft.hasReasoning
	e.add(msg)
	return nil
}

// setReasoning sets the reasoning of a message in the form in which the host wants it back. It
// returns false if the message has none.
func (e *messageEncoder) setReasoning(m *chatMessage, v hostData) bool {
	switch field := e.draft.profile.Reasoning; {
	case field == "":
	case field == thinkingParts && v.reasoning != "":
		parts := []chatPart{{Type: "thinking", Thinking: []chatPart{{Type: "text", Text: v.reasoning}}, Closed: true}}
		if text, _ := m.Content.(string); text != "" {
			parts = append(parts, chatPart{Type: "text", Text: text})
		}
		m.Content = parts
		return true
	case field == reasoningContent:
		m.ReasoningContent = v.reasoning
	case field == reasoningDetails && len(v.details) > 0:
		m.Details = v.details
	default:
		m.Reasoning = v.reasoning
	}
	return m.Reasoning != "" || m.ReasoningContent != "" || m.Details != nil
}

// fillReasoning gives every message of the assistant some reasoning, if one has reasoning and the host requires it for
// all. DeepSeek accepts a space for reasoning that was not kept.
func (e *messageEncoder) fillReasoning() {
	if p := e.draft.profile; !p.AllReasoning || !e.draft.hasReasoning && !p.FillThoughts {
		return
	}
	for i := range e.draft.messages {
		if m := &e.draft.messages[i]; m.Role == "assistant" && m.ReasoningContent == "" {
			e.setReasoning(m, hostData{reasoning: " "})
		}
	}
}

// addCalls adds tool calls to a message, with the data that the host wants back, and returns their reasoning.
func (e *messageEncoder) addCalls(msg *chatMessage, calls []ToolCall) (thought hostData, err error) {
	for i, call := range calls {
		if call.ID == "" || call.Name == "" {
			return thought, fmt.Errorf("tool call with id %q and name %q: both are needed", excerpt.Cut(call.ID), excerpt.Cut(call.Name))
		}
		e.draft.ids[call.ID] = true
		function := calledFunction{e.draft.names.outgoing(call.Name), objectText(call.Arguments)}
		wire := chatCall{ID: e.ids.outgoing(call.ID), Type: "function", Function: function}
		e.toolNames[call.ID] = wire.Function.Name
		kept := e.draft.recall(&call)
		if kept.extra == nil && isExtra(call.Extra) {
			kept.extra = call.Extra
		}
		thought = thought.or(kept)
		if e.draft.profile.EchoExtra {
			wire.Extra = kept.extra
		}
		if e.draft.profile.FillExtra && i == 0 && wire.Extra == nil {
			wire.Extra = foreignCall
		}
		msg.Calls = append(msg.Calls, wire)
	}
	return thought, nil
}

// foreignCall is the extra data that Google documents for a call of another model.
var foreignCall = json.RawMessage(`{"google":{"thought_signature":"skip_thought_signature_validator"}}`)

// objectText returns the arguments of an earlier call as a JSON object, as hosts parse them. Any other text is put
// inside an object.
func objectText(arguments string) string {
	arguments = strings.TrimSpace(arguments)
	if arguments == "" {
		return "{}"
	}
	if arguments[0] == '{' && json.Valid([]byte(arguments)) {
		return arguments
	}
	quoted, _ := json.Marshal(arguments) // a string always marshals
	return `{"malformed":` + string(quoted) + `}`
}

// joinText joins the texts of parts with newlines.
func joinText(parts []Part) string {
	if len(parts) == 1 {
		return parts[0].Text
	}
	var texts []string
	for _, p := range parts {
		if !p.isMedia() {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
