package chat

import (
	"cmp"
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
	role := systemRole(d.profile, r.Model, rule)
	if len(system) > 0 {
		d.addText(role, strings.Join(system, "\n\n"))
	}
	if err := d.encodeEach(r, rest, func(m *Message) (err error) {
		switch m.Role {
		case System:
			d.addText(role, joinText(m.Parts))
		case User:
			err = d.addUser(m)
		case Assistant:
			err = d.addAssistant(m)
		case ToolRole:
			d.addResult(m)
		}
		return err
	}); err != nil {
		return err
	}
	if len(d.messages) == 0 {
		return errors.New("no messages")
	}
	if d.profile.StrictTurns && d.messages[len(d.messages)-1].Role == "assistant" {
		d.addText("user", "Continue.")
	}
	d.fillReasoning()
	return nil
}

// encodeEach calls encode with each message of the rest of a conversation.
func (d *draft) encodeEach(r *Request, rest []Message, encode func(*Message) error) error {
	leading := len(r.Messages) - len(rest)
	d.extendConversation(r.Messages[:leading])
	for i := range rest {
		err := rest[i].check()
		if err == nil {
			err = encode(&rest[i])
		}
		if err != nil {
			return fmt.Errorf("message %d: %w", leading+i, err)
		}
		d.extendConversation(rest[i : i+1])
	}
	return nil
}

// check returns an error for a message of an unknown role, or a result of an unknown call.
func (m *Message) check() error {
	switch {
	case !slices.Contains([]Role{System, User, Assistant, ToolRole}, m.Role):
		return fmt.Errorf("role %q is not one of system, user, assistant, tool", excerpt.Cut(string(m.Role)))
	case m.Role == ToolRole && m.ToolCallID == "":
		return errors.New("tool result has no call id")
	}
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

// addText adds a message of text, which may be empty.
func (d *draft) addText(role, text string) {
	d.messages = append(d.messages, chatMessage{Role: role, Content: text})
}

// addResult adds the result of a tool.
func (d *draft) addResult(m *Message) {
	text := cmp.Or(joinText(m.Parts), "(no output)") // some hosts refuse empty results
	result := chatMessage{Role: "tool", Content: text, CallID: d.ids.outgoing(m.ToolCallID)}
	if !d.profile.Nameless {
		result.Name = d.toolNames[m.ToolCallID]
	}
	d.messages = append(d.messages, result)
}

// addUser adds a message of the user.
func (d *draft) addUser(m *Message) error {
	if sent := d.messages; d.profile.StrictTurns && len(sent) > 0 && sent[len(sent)-1].Role == "tool" {
		d.addText("assistant", "I have the results.")
	}
	var parts []chatPart
	media := false
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.File != nil {
			return errors.New("the Chat Completions API takes no files")
		}
		if err := d.profile.checkPart(p); err != nil {
			return err
		}
		media = media || p.Image != nil || p.Audio != nil
		if *p != (Part{}) { // hosts refuse parts with empty text
			parts = append(parts, wirePart(p))
		}
	}
	if !media && (len(parts) < 2 || d.profile.JoinText) {
		d.addText("user", joinText(slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool { return p == Part{} })))
		return nil
	}
	d.messages = append(d.messages, chatMessage{Role: "user", Content: parts})
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
func (d *draft) addAssistant(m *Message) error {
	if slices.ContainsFunc(m.Parts, Part.isMedia) {
		return errors.New("assistant message takes text only")
	}
	text := joinText(m.Parts)
	msg := chatMessage{Role: "assistant", Content: text}
	thought := hostData{reasoning: m.Reasoning, details: m.Details}
	if len(m.ToolCalls) == 0 {
		thought = thought.or(d.recall(keyOfText(text)))
	} else {
		kept, err := d.addCalls(&msg, m.ToolCalls)
		if err != nil {
			return err
		}
		thought = thought.or(kept)
		if text == "" && !d.profile.BlankContent {
			msg.Content = nil
		}
	}
	d.hasReasoning = d.setReasoning(&msg, thought) || d.hasReasoning
	d.messages = append(d.messages, msg)
	return nil
}

// setReasoning sets the reasoning of a message in the form in which the host wants it back. It
// returns false if the message has none.
func (d *draft) setReasoning(m *chatMessage, v hostData) bool {
	switch field := d.profile.Reasoning; {
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
func (d *draft) fillReasoning() {
	if p := d.profile; !p.AllReasoning || !d.hasReasoning && !p.FillThoughts {
		return
	}
	for i := range d.messages {
		if m := &d.messages[i]; m.Role == "assistant" && m.ReasoningContent == "" {
			d.setReasoning(m, hostData{reasoning: " "})
		}
	}
}

// addCalls adds tool calls to a message, with the data that the host wants back, and returns their reasoning.
func (d *draft) addCalls(msg *chatMessage, calls []ToolCall) (thought hostData, err error) {
	for i, call := range calls {
		if call.ID == "" || call.Name == "" {
			return thought, fmt.Errorf("tool call with id %q and name %q: both are needed", excerpt.Cut(call.ID), excerpt.Cut(call.Name))
		}
		function := calledFunction{d.names.outgoing(call.Name), objectText(call.Arguments)}
		wire := chatCall{ID: d.ids.outgoing(call.ID), Type: "function", Function: function}
		d.toolNames[call.ID] = wire.Function.Name
		kept := d.recall(&call)
		if kept.extra == nil && isExtra(call.Extra) {
			kept.extra = call.Extra
		}
		thought = thought.or(kept)
		if d.profile.EchoExtra {
			wire.Extra = kept.extra
		}
		if d.profile.FillExtra && i == 0 && wire.Extra == nil {
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
