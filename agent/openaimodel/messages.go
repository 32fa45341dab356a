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
}

// add adds messages.
func (c *conversation) add(messages []run.Message) error {
	for rest := messages; len(rest) > 0; {
		n := groupLen(rest)
		if err := c.addGroup(rest[:n]); err != nil {
			return fmt.Errorf("message %d: %w", len(messages)-len(rest), err)
		}
		rest = rest[n:]
	}
	return nil
}

// groupLen returns how many of the first messages belong together: the results of a turn, or one
// message.
func groupLen(messages []run.Message) int {
	n := 0
	for n < len(messages) && messages[n].Role == run.RoleTool {
		n++
	}
	return max(n, 1)
}

// addGroup adds one message, or the results of a turn.
func (c *conversation) addGroup(group []run.Message) error {
	switch first := &group[0]; first.Role {
	case run.RoleSystem:
		return c.addContent(chat.System, first.Parts)
	case run.RoleUser:
		return c.addContent(chat.User, first.Parts)
	case run.RoleAssistant:
		return c.addAssistant(first)
	case run.RoleTool:
		c.addResults(group)
		return nil
	default:
		return fmt.Errorf("role %q is unknown", first.Role)
	}
}

// addContent adds a message of the user or the program.
func (c *conversation) addContent(role chat.Role, parts []run.Part) error {
	out := make([]chat.Part, 0, len(parts))
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case run.PartText, run.PartSummary:
			out = append(out, chat.Part{Text: p.Text})
		case run.PartImage, run.PartAudio, run.PartFile:
			part, err := c.userMedia(p)
			if err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
			out = append(out, part)
		}
	}
	c.messages = append(c.messages, chat.Message{Role: role, Parts: out})
	return nil
}

// userMedia translates media of the user, from whom the Responses API also accepts documents.
func (c *conversation) userMedia(p *run.Part) (chat.Part, error) {
	if mimeType := chat.BareType(p.MIMEType); c.responses && mimeType == "application/pdf" {
		return chat.Part{File: &chat.File{Name: "document.pdf", MIMEType: mimeType, Data: p.Data, URL: p.URL}}, nil
	}
	return media(p)
}

// media translates an image, a sound or a file. A medium with only a URL is sent if it is an image;
// otherwise its URL becomes text.
func media(p *run.Part) (part chat.Part, err error) {
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

// addAssistant adds a message of the model, with the data that this provider wants back. It omits a
// message without text, calls and media.
func (c *conversation) addAssistant(in *run.Message) error {
	calls := make([]chat.ToolCall, 0, countCalls(in.Parts)) // allocated once: items point into it
	msg := chat.Message{Role: chat.Assistant, ToolCalls: calls}
	for i := range in.Parts {
		p := &in.Parts[i]
		data, isOurs := c.model.hostDataOf(p)
		switch p.Type {
		case run.PartText, run.PartSummary:
			msg.Parts = append(msg.Parts, chat.Part{Text: p.Text})
			if c.responses {
				msg.Items = append(msg.Items, chat.Item{Text: &chat.ItemText{Text: p.Text, Phase: data.Phase}})
			}
		case run.PartReasoning:
			if c.responses && data.Item != nil {
				msg.Items = append(msg.Items, chat.Item{Raw: data.Item})
			}
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
			if c.responses {
				msg.Items = append(msg.Items, chat.Item{Call: &msg.ToolCalls[len(msg.ToolCalls)-1]})
			}
		case run.PartImage, run.PartAudio, run.PartFile:
			part, err := media(p)
			if err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
			msg.Parts = append(msg.Parts, part)
		}
	}
	if len(msg.Parts) == 0 && len(msg.ToolCalls) == 0 {
		return nil
	}
	c.messages = append(c.messages, msg)
	return nil
}

// countCalls returns the number of calls among parts.
func countCalls(parts []run.Part) (n int) {
	for i := range parts {
		if parts[i].Type == run.PartCall {
			n++
		}
	}
	return n
}

// addResults adds the results of a turn with the media that the provider accepts. Chat
// Completions accepts media only from the user, so there they follow the results in a message of
// the user.
func (c *conversation) addResults(group []run.Message) {
	var attached []chat.Part
	for i := range group {
		for j := range group[i].Parts {
			p := &group[i].Parts[j]
			if p.Type != run.PartResult {
				continue
			}
			text := []chat.Part{{Text: p.Text}}
			c.messages = append(c.messages, chat.Message{Role: chat.ToolRole, ToolCallID: p.ID, Parts: text, Tools: p.Tools})
			hasTitle := false
			for k := range p.Media {
				part, err := binary(p.Media[k].MIMEType, p.Media[k].Data)
				if err != nil || p.Media[k].Data == nil || !c.model.isAccepted(p.Media[k].MIMEType) {
					continue
				}
				if c.responses {
					last := &c.messages[len(c.messages)-1]
					last.Parts = append(last.Parts, part)
					continue
				}
				if !hasTitle {
					hasTitle = true
					attached = append(attached, chat.Part{Text: fmt.Sprintf("From the result of %s (call %s):", p.Name, p.ID)})
				}
				attached = append(attached, part)
			}
		}
	}
	if len(attached) > 0 {
		c.messages = append(c.messages, chat.Message{Role: chat.User, Parts: attached})
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
