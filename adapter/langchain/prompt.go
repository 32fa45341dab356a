package langchain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Prompt makes a prompt of a server, one that the client lists, a prompt template of langchaingo: it
// implements the interfaces of package prompts, FormatPrompter, MessageFormatter
// and Formatter. Each use asks the server to fill the prompt in. The methods of these interfaces have no
// context, so each ends after 30 s, and their messages have no media; [PromptMessages] has images and sounds as well.
func Prompt(client *mcpclient.Client, prompt *mcp.Prompt) *template {
	return &template{client, prompt}
}

type template struct {
	client *mcpclient.Client
	prompt *mcp.Prompt
}

// PromptMessages has a prompt of a server filled in. Values that are not strings are written as
// JSON; unknown ones are left out.
func PromptMessages(ctx context.Context, client *mcpclient.Client, prompt *mcp.Prompt, values map[string]any) ([]llms.MessageContent, error) {
	args, err := argumentsOf(prompt, values)
	if err != nil {
		return nil, fmt.Errorf("prompt %.200q: %w", prompt.Name, err)
	}
	res, err := client.GetPrompt(ctx, prompt.Name, args)
	if err != nil {
		return nil, err
	}
	out := make([]llms.MessageContent, len(res.Messages))
	for i, m := range res.Messages {
		out[i].Role = llms.ChatMessageTypeHuman
		if m.Role == "assistant" {
			out[i].Role = llms.ChatMessageTypeAI
		}
		out[i].Parts = partsOf(m.Content)
	}
	return out, nil
}

// partsOf writes a content of a prompt as parts of a message.
func partsOf(c mcp.Content) []llms.ContentPart {
	switch c := c.(type) {
	case *mcp.TextContent:
		return []llms.ContentPart{llms.TextPart(c.Text)}
	case *mcp.ImageContent:
		return []llms.ContentPart{llms.BinaryPart(c.MIMEType, c.Data)}
	case *mcp.AudioContent:
		return []llms.ContentPart{llms.BinaryPart(c.MIMEType, c.Data)}
	case *mcp.EmbeddedResource:
		r := &c.Resource
		head := fmt.Sprintf("[resource %.1000s (%.100s)]", r.URI, cmp.Or(r.MIMEType, "of no type"))
		switch {
		case r.Blob == nil:
			return []llms.ContentPart{llms.TextPart(head + "\n" + r.Text)}
		case strings.HasPrefix(r.MIMEType, "image/") || strings.HasPrefix(r.MIMEType, "audio/"):
			return []llms.ContentPart{llms.TextPart(head), llms.BinaryPart(r.MIMEType, r.Blob)}
		}
		return []llms.ContentPart{llms.TextPart(fmt.Sprintf("%s: %d bytes of binary data", head, len(r.Blob)))}
	}
	written, err := jsonrpc.Marshal(c)
	if err != nil {
		written = []byte(err.Error())
	}
	return []llms.ContentPart{llms.TextPart(string(written))}
}

func argumentsOf(prompt *mcp.Prompt, values map[string]any) (map[string]string, error) {
	args := map[string]string{}
	for _, a := range prompt.Arguments {
		v, ok := values[a.Name]
		if !ok {
			if a.Required {
				return nil, fmt.Errorf("missing the value of %.200q", a.Name)
			}
			continue
		}
		text, ok := v.(string)
		if !ok {
			raw, err := json.Marshal(v)
			if err != nil {
				return nil, fmt.Errorf("the value of %.200q: %w", a.Name, err)
			}
			text = string(raw)
		}
		args[a.Name] = text
	}
	return args, nil
}

// GetInputVariables lists the names of the prompt's arguments.
func (p *template) GetInputVariables() []string {
	var out []string
	for _, a := range p.prompt.Arguments {
		out = append(out, a.Name)
	}
	return out
}

// FormatMessages is Messages with chat messages.
func (p *template) FormatMessages(values map[string]any) ([]llms.ChatMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	messages, err := PromptMessages(ctx, p.client, p.prompt, values)
	if err != nil {
		return nil, err
	}
	out := make([]llms.ChatMessage, len(messages))
	for i, m := range messages {
		text := textOf(m.Parts)
		if m.Role == llms.ChatMessageTypeAI {
			out[i] = llms.AIChatMessage{Content: text}
		} else {
			out[i] = llms.HumanChatMessage{Content: text}
		}
	}
	return out, nil
}

// textOf writes parts as text.
func textOf(parts []llms.ContentPart) string {
	var out []string
	for _, part := range parts {
		switch part := part.(type) {
		case llms.TextContent:
			out = append(out, part.Text)
		case llms.BinaryContent:
			out = append(out, fmt.Sprintf("[%.100s, %d bytes]", part.MIMEType, len(part.Data)))
		}
	}
	return strings.Join(out, "\n")
}

// FormatPrompt is FormatMessages as a prompt value.
func (p *template) FormatPrompt(values map[string]any) (llms.PromptValue, error) {
	messages, err := p.FormatMessages(values)
	if err != nil {
		return nil, err
	}
	return promptValue(messages), nil
}

// Format is FormatMessages as one text.
func (p *template) Format(values map[string]any) (string, error) {
	value, err := p.FormatPrompt(values)
	if err != nil {
		return "", err
	}
	return value.String(), nil
}

// promptValue is a list of messages as langchaingo's PromptValue.
type promptValue []llms.ChatMessage

func (v promptValue) Messages() []llms.ChatMessage { return v }

func (v promptValue) String() string {
	text, err := llms.GetBufferString(v, "Human", "AI")
	if err != nil { // an unknown role, which these messages never have
		return ""
	}
	return text
}
