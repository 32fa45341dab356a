package openaimodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// appendMessages adds one message, or the results of a turn. responses says that the request is for
// the Responses API.
func (m *Model) appendMessages(out []chat.Message, group []run.Message, responses bool) ([]chat.Message, error) {
	switch first := &group[0]; first.Role {
	case run.RoleSystem, run.RoleUser:
		role := chat.User
		if first.Role == run.RoleSystem {
			role = chat.System
		}
		parts, err := contentOf(first.Parts, responses)
		return append(out, chat.Message{Role: role, Parts: parts}), err
	case run.RoleAssistant:
		return m.appendAssistant(out, first, responses)
	case run.RoleTool:
		return m.appendResults(out, group, responses), nil
	default:
		return nil, fmt.Errorf("role %q is unknown", first.Role)
	}
}

// contentOf translates the parts of a message of the user or the program. files says that the API
// accepts documents.
func contentOf(parts []run.Part, files bool) ([]chat.Part, error) {
	out := make([]chat.Part, 0, len(parts))
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case run.PartText, run.PartSummary:
			out = append(out, chat.Part{Text: p.Text})
		case run.PartImage, run.PartAudio, run.PartFile:
			part, err := mediaPart(p, files)
			if err != nil {
				return nil, fmt.Errorf("part %d: %w", i, err)
			}
			out = append(out, part)
		}
	}
	return out, nil
}

// mediaPart translates an image, a sound or a file. Only the Responses API accepts documents. A
// medium with only a URL is sent if it is an image; otherwise its URL becomes text.
func mediaPart(p *run.Part, files bool) (chat.Part, error) {
	if mimeType := chat.BareType(p.MIMEType); files && mimeType == "application/pdf" {
		return chat.Part{File: &chat.File{Name: "document.pdf", MIMEType: mimeType, Data: p.Data, URL: p.URL}}, nil
	}
	if p.Data != nil || p.URL == "" {
		return binary(p.MIMEType, p.Data)
	}
	if p.Type != run.PartImage {
		return chat.Part{Text: fmt.Sprintf("[%s at %s]", p.MIMEType, p.URL)}, nil
	}
	image := &chat.Image{URL: p.URL}
	if detail, ok := p.Provider["detail"]; ok {
		_ = json.Unmarshal(detail, &image.Detail) // not a string: no detail
	}
	return chat.Part{Image: image}, nil
}

// appendAssistant adds a message of the model, with the data that this provider wants back. It
// omits a message without text, calls and media.
func (m *Model) appendAssistant(out []chat.Message, in *run.Message, responses bool) ([]chat.Message, error) {
	calls := make([]chat.ToolCall, 0, countCalls(in.Parts)) // allocated once: items point into it
	msg := chat.Message{Role: chat.Assistant, ToolCalls: calls}
	for i := range in.Parts {
		p := &in.Parts[i]
		data, isOurs := m.hostDataOf(p)
		switch p.Type {
		case run.PartText, run.PartSummary:
			msg.Parts = append(msg.Parts, chat.Part{Text: p.Text})
			if responses {
				msg.Items = append(msg.Items, chat.Item{Text: &chat.ItemText{Text: p.Text, Phase: data.Phase}})
			}
		case run.PartReasoning:
			if responses && data.Item != nil {
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
			if responses {
				msg.Items = append(msg.Items, chat.Item{Call: &msg.ToolCalls[len(msg.ToolCalls)-1]})
			}
		case run.PartImage, run.PartAudio, run.PartFile:
			part, err := mediaPart(p, false)
			if err != nil {
				return nil, fmt.Errorf("part %d: %w", i, err)
			}
			msg.Parts = append(msg.Parts, part)
		}
	}
	if len(msg.Parts) == 0 && len(msg.ToolCalls) == 0 {
		return out, nil
	}
	return append(out, msg), nil
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

// appendResults adds the results of a turn with the media that the provider accepts. Chat
// Completions accepts media only from the user, so there they follow the results in a message of
// the user.
func (m *Model) appendResults(out []chat.Message, group []run.Message, responses bool) []chat.Message {
	var media []chat.Part
	for i := range group {
		for j := range group[i].Parts {
			p := &group[i].Parts[j]
			if p.Type != run.PartResult {
				continue
			}
			out = append(out, chat.Message{Role: chat.ToolRole, ToolCallID: p.ID, Parts: []chat.Part{{Text: p.Text}}, Tools: p.Tools})
			hasTitle := false
			for k := range p.Media {
				part, err := binary(p.Media[k].MIMEType, p.Media[k].Data)
				if err != nil || p.Media[k].Data == nil || !m.isAccepted(p.Media[k].MIMEType) {
					continue
				}
				if responses {
					last := &out[len(out)-1]
					last.Parts = append(last.Parts, part)
					continue
				}
				if !hasTitle {
					hasTitle = true
					media = append(media, chat.Part{Text: fmt.Sprintf("From the result of %s (call %s):", p.Name, p.ID)})
				}
				media = append(media, part)
			}
		}
	}
	if len(media) > 0 {
		out = append(out, chat.Message{Role: chat.User, Parts: media})
	}
	return out
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
