package sampling

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// writer translates a server's messages. Only messages of the user can have media, so
// media of other messages are added to the next message of the user.
type writer struct {
	messages []chat.Message
	tools    offer
	order    []string    // ids of the tool uses in the latest message of the assistant
	waiting  []chat.Part // media for the next message of the user
}

// addMessage adds a message. Blocks that a checked request cannot have are left out.
func (w *writer) addMessage(m mcp.SamplingMessage) {
	switch {
	case m.Role == "assistant":
		w.addAssistant(m.Content)
	case len(m.Content) > 0 && isResult(m.Content[0]):
		w.addResults(m.Content)
	default:
		w.addUser(m.Content)
	}
}

// isResult reports whether content is the result of a tool.
func isResult(c mcp.Content) bool {
	_, ok := c.(*mcp.ToolResultContent)
	return ok
}

// addUser adds a message of the user, after media that wait for it.
func (w *writer) addUser(blocks []mcp.Content) {
	parts := w.waiting
	w.waiting = nil
	for _, c := range blocks {
		if part, ok := mediaPart(c); ok {
			parts = append(parts, part)
		} else if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, chat.Part{Text: t.Text})
		}
	}
	w.messages = append(w.messages, chat.Message{Role: chat.User, Parts: parts})
}

// addAssistant adds a message of the assistant. Its media wait for the next message of the user.
func (w *writer) addAssistant(blocks []mcp.Content) {
	m := chat.Message{Role: chat.Assistant}
	w.order = nil
	for _, c := range blocks {
		switch c := c.(type) {
		case *mcp.TextContent:
			m.Parts = append(m.Parts, chat.Part{Text: c.Text})
		case *mcp.ToolUseContent:
			w.order = append(w.order, c.ID)
			arguments := w.tools.replayArguments(c.Name, c.Input)
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: c.ID, Name: c.Name, Arguments: arguments, Extra: hostExtra(c.Meta)})
		default:
			if part, ok := mediaPart(c); ok {
				m.Parts = append(m.Parts, chat.Part{Text: "[" + mediaName(c) + " of the assistant, attached to the user's next message]"})
				w.waiting = append(w.waiting, part)
			}
		}
	}
	w.messages = append(w.messages, m)
}

// addResults adds one message for each result, in the order of the tool uses.
func (w *writer) addResults(blocks []mcp.Content) {
	byID := map[string]*mcp.ToolResultContent{}
	for _, c := range blocks {
		if r, ok := c.(*mcp.ToolResultContent); ok {
			byID[r.ToolUseID] = r
		}
	}
	for _, id := range w.order {
		text, media := resultText(byID[id])
		w.messages = append(w.messages, chat.Message{
			Role: chat.ToolRole, ToolCallID: id, Parts: []chat.Part{{Text: text}},
		})
		w.waiting = append(w.waiting, media...)
	}
	w.finish()
}

// finish puts the waiting media into a message of the user.
func (w *writer) finish() []chat.Message {
	if len(w.waiting) > 0 {
		w.addUser(nil)
	}
	return w.messages
}

// mediaPart translates an image or a sound. It returns false for other content, and for types that no model accepts.
func mediaPart(c mcp.Content) (chat.Part, bool) {
	switch c := c.(type) {
	case *mcp.ImageContent:
		if clean, ok := chat.ImageType(c.MIMEType); ok && len(c.Data) > 0 {
			return chat.Part{Image: &chat.Image{MIMEType: clean, Data: c.Data}}, true
		}
	case *mcp.AudioContent:
		if format, ok := chat.AudioFormat(c.MIMEType); ok && len(c.Data) > 0 {
			return chat.Part{Audio: &chat.Audio{Format: format, Data: c.Data}}, true
		}
	}
	return chat.Part{}, false
}

// mediaName describes an image or a sound: its type and size.
func mediaName(c mcp.Content) string {
	switch c := c.(type) {
	case *mcp.ImageContent:
		return fmt.Sprintf("image %s, %d bytes", excerpt.Cut(c.MIMEType), len(c.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("audio %s, %d bytes", excerpt.Cut(c.MIMEType), len(c.Data))
	}
	return "content"
}

// resultText returns the text of a tool's result, and the media to attach below it.
func resultText(r *mcp.ToolResultContent) (string, []chat.Part) {
	var texts []string
	var media []chat.Part
	for _, c := range r.Content {
		text := blockText(c)
		if part, ok := mediaPart(c); ok {
			text = "[" + mediaName(c) + ", attached below]"
			media = append(media, part)
		}
		texts = append(texts, text)
	}
	if len(r.Content) == 0 && len(r.StructuredContent) > 0 {
		texts = append(texts, string(r.StructuredContent))
	}
	text := strings.Join(texts, "\n")
	text = cmp.Or(text, "(no output)")
	if r.IsError {
		text = "Error: " + text
	}
	return text, media
}

// blockText returns the text that stands for a block.
func blockText(c mcp.Content) string {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text
	case *mcp.ImageContent, *mcp.AudioContent:
		return "[" + mediaName(c) + ", of a type that the model does not accept]"
	case *mcp.ResourceLink:
		return linkText(&c.Resource)
	case *mcp.EmbeddedResource:
		if c.Resource.Blob != nil {
			return fmt.Sprintf("[resource %s %s, %d bytes of binary data]", c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
		}
		return "resource " + c.Resource.URI + ":\n" + c.Resource.Text
	case *mcp.UnknownContent:
		return "[content of unknown type " + excerpt.Cut(c.Type) + "]"
	}
	return "[content that does not belong here]"
}

// linkText returns the text that stands for the link to a resource.
func linkText(r *mcp.Resource) string {
	fields := []string{"resource", r.Name, r.URI}
	if r.MIMEType != "" {
		fields = append(fields, r.MIMEType)
	}
	if r.Size != nil {
		fields = append(fields, fmt.Sprintf("%d bytes", *r.Size))
	}
	return "[" + strings.Join(fields, " ") + "]"
}
