package openaimodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// conversation translates the messages of a run for an API of the provider.
type conversation struct {
	model     *Model
	responses bool // the API is Responses, and not Chat Completions
	messages  []chat.Message
	attached  []chat.Part // media of results, for a message of the user
}

// add adds messages.
func (c *conversation) add(messages []run.Message) error {
	for i := range messages {
		if messages[i].Role != run.RoleTool {
			c.addAttached()
		}
		if err := c.addMessage(&messages[i]); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	c.addAttached()
	return nil
}

func (c *conversation) addMessage(m *run.Message) error {
	switch m.Role {
	case run.RoleSystem:
		return c.addContent(chat.System, m.Parts)
	case run.RoleUser:
		return c.addContent(chat.User, m.Parts)
	case run.RoleAssistant:
		c.addAssistant(m)
	case run.RoleTool:
		c.addResults(m)
	default:
		return fmt.Errorf("role %q is unknown", m.Role)
	}
	return nil
}

// addContent adds a message of the user or the program.
func (c *conversation) addContent(role chat.Role, parts []run.Part) error {
	out := make([]chat.Part, 0, len(parts))
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case run.PartText, run.PartSummary:
			out = append(out, chat.Part{Text: p.Text})
		case run.PartImage, run.PartAudio, run.PartFile:
			part, err := mediaPart(p)
			if mimeType := chat.BareType(p.MIMEType); c.responses && mimeType == "application/pdf" { // it also accepts documents
				file := &chat.File{Name: "document.pdf", MIMEType: mimeType, Data: p.Data, URL: p.URL}
				part, err = chat.Part{File: file}, nil
			}
			if err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
			out = append(out, part)
		}
	}
	c.messages = append(c.messages, chat.Message{Role: role, Parts: out})
	return nil
}

// mediaPart translates an image, a sound or a file. A medium with only a URL is sent if it is an image;
// otherwise its URL becomes text.
func mediaPart(p *run.Part) (part chat.Part, err error) {
	switch {
	case p.Data != nil || p.URL == "":
		part, err = binary(p.MIMEType, p.Data)
	case p.Type == run.PartImage:
		part.Image = &chat.Image{URL: p.URL}
	default:
		part.Text = fmt.Sprintf("[%s at %s]", p.MIMEType, p.URL)
	}
	if detail, ok := p.Provider["detail"]; ok && part.Image != nil {
		_ = json.Unmarshal(detail, &part.Image.Detail) // not a string: no detail
	}
	return part, err
}

// addAssistant adds a message of the model, with the data that this provider wants back. Media become a note, as no API
// accepts them from the model. It omits a message without text and calls.
func (c *conversation) addAssistant(in *run.Message) {
	calls := make([]chat.ToolCall, 0, len(in.Parts)) // allocated once: items point into it
	msg := chat.Message{Role: chat.Assistant, ToolCalls: calls}
	for i := range in.Parts {
		p := &in.Parts[i]
		data, isOurs := c.model.hostDataOf(p)
		item, text := chat.Item{}, p.Text
		switch p.Type {
		case run.PartImage, run.PartAudio, run.PartFile:
			part, _ := mediaPart(p)
			text = cmp.Or(part.Text, fmt.Sprintf("[%s of the assistant]", cmp.Or(p.MIMEType, string(p.Type))))
			fallthrough
		case run.PartText, run.PartSummary:
			msg.Parts = append(msg.Parts, chat.Part{Text: text})
			item.Text = &chat.ItemText{Text: text, Phase: data.Phase}
		case run.PartReasoning:
			item.Raw = data.Item
			if isOurs && msg.Reasoning == "" {
				msg.Reasoning = p.Text
			}
			if msg.Details == nil {
				msg.Details = data.Details
			}
		case run.PartCall:
			msg.ToolCalls = append(msg.ToolCalls, chat.ToolCall{
				ID: p.ID, Name: cmp.Or(p.Name, "unknown"), Arguments: p.Arguments, Extra: data.Extra,
			})
			item.Call = &msg.ToolCalls[len(msg.ToolCalls)-1]
		}
		if c.responses && (item.Raw != nil || item.Text != nil || item.Call != nil) {
			msg.Items = append(msg.Items, item)
		}
	}
	if len(msg.Parts) > 0 || len(msg.ToolCalls) > 0 {
		c.messages = append(c.messages, msg)
	}
}

// addResults adds results with the media that the provider accepts. Chat Completions accepts media only from the user, so
// there they follow the results of the turn in a message of the user.
func (c *conversation) addResults(m *run.Message) {
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Type != run.PartResult {
			continue
		}
		result := chat.Message{Role: chat.ToolRole, ToolCallID: p.ID, Parts: []chat.Part{{Text: p.Text}}, Tools: p.Tools}
		var media []chat.Part
		for j := range p.Media {
			part, err := binary(p.Media[j].MIMEType, p.Media[j].Data)
			if err == nil && p.Media[j].Data != nil && c.model.isAccepted(p.Media[j].MIMEType) {
				media = append(media, part)
			}
		}
		switch {
		case c.responses:
			result.Parts = append(result.Parts, media...)
		case len(media) > 0:
			title := chat.Part{Text: fmt.Sprintf("From the result of %s (call %s):", p.Name, p.ID)}
			c.attached = append(append(c.attached, title), media...)
		}
		c.messages = append(c.messages, result)
	}
}

// addAttached adds the media of results.
func (c *conversation) addAttached() {
	if len(c.attached) > 0 {
		c.messages = append(c.messages, chat.Message{Role: chat.User, Parts: c.attached})
		c.attached = nil
	}
}

// binary translates media. It returns an error for a type that the API does not accept.
func binary(mimeType string, data []byte) (chat.Part, error) {
	imageType, isImage := chat.ImageType(mimeType)
	format, isAudio := chat.AudioFormat(mimeType)
	switch {
	case isImage:
		return chat.Part{Image: &chat.Image{MIMEType: imageType, Data: data}}, nil
	case isAudio:
		return chat.Part{Audio: &chat.Audio{Format: format, Data: data}}, nil
	case strings.HasPrefix(chat.BareType(mimeType), "text/"):
		return chat.Part{Text: string(data)}, nil
	}
	return chat.Part{}, fmt.Errorf("binary content of type %q: the API accepts png, jpeg, gif, webp, wav, mp3 and text", mimeType)
}
