package langchain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/prompts"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Prompt returns a prompt of a server as a template of langchaingo. It also implements
// MessageFormatter and Formatter of package prompts. Each use asks the server for the messages, for
// at most 30 s, because the methods have no context. The messages have no media; [PromptMessages]
// returns images and audio as well. The template may be used concurrently.
func Prompt(client *mcpclient.Client, prompt *mcp.Prompt) prompts.FormatPrompter {
	return &template{client, prompt}
}

// template is the result of [Prompt].
type template struct {
	client *mcpclient.Client
	prompt *mcp.Prompt
}

var (
	_ prompts.MessageFormatter = (*template)(nil)
	_ prompts.Formatter        = (*template)(nil)
)

// formatTimeout bounds one use of a template.
const formatTimeout = 30 * time.Second

// PromptMessages asks the server for the messages of a prompt. Values that are not strings are sent
// as JSON. Values that the prompt has no argument for are ignored; a required argument without a
// value is an error.
func PromptMessages(ctx context.Context, client *mcpclient.Client, prompt *mcp.Prompt, values map[string]any) ([]llms.MessageContent, error) {
	args, err := promptArguments(prompt, values)
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
		out[i].Parts = contentParts(m.Content)
	}
	return out, nil
}

// contentParts converts a content of a prompt to parts of a message.
func contentParts(c mcp.Content) []llms.ContentPart {
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

// promptArguments returns the arguments of a prompt as the protocol wants them: strings.
func promptArguments(prompt *mcp.Prompt, values map[string]any) (map[string]string, error) {
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
				return nil, fmt.Errorf("value of %.200q: %w", a.Name, err)
			}
			text = string(raw)
		}
		args[a.Name] = text
	}
	return args, nil
}

// GetInputVariables implements [prompts.FormatPrompter]. It returns the names of the prompt's
// arguments.
func (p *template) GetInputVariables() []string {
	var out []string
	for _, a := range p.prompt.Arguments {
		out = append(out, a.Name)
	}
	return out
}

// FormatMessages implements [prompts.MessageFormatter].
func (p *template) FormatMessages(values map[string]any) ([]llms.ChatMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), formatTimeout)
	defer cancel()
	messages, err := PromptMessages(ctx, p.client, p.prompt, values)
	if err != nil {
		return nil, err
	}
	out := make([]llms.ChatMessage, len(messages))
	for i, m := range messages {
		text := joinText(m.Parts)
		if m.Role == llms.ChatMessageTypeAI {
			out[i] = llms.AIChatMessage{Content: text}
		} else {
			out[i] = llms.HumanChatMessage{Content: text}
		}
	}
	return out, nil
}

// joinText returns parts as text, with a line for each media part.
func joinText(parts []llms.ContentPart) string {
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

// FormatPrompt implements [prompts.FormatPrompter].
func (p *template) FormatPrompt(values map[string]any) (llms.PromptValue, error) {
	messages, err := p.FormatMessages(values)
	if err != nil {
		return nil, err
	}
	return promptValue(messages), nil
}

// Format implements [prompts.Formatter].
func (p *template) Format(values map[string]any) (string, error) {
	value, err := p.FormatPrompt(values)
	if err != nil {
		return "", err
	}
	return value.String(), nil
}

// promptValue implements [llms.PromptValue].
type promptValue []llms.ChatMessage

func (v promptValue) Messages() []llms.ChatMessage { return v }

func (v promptValue) String() string {
	text, err := llms.GetBufferString(v, "Human", "AI")
	if err != nil { // an unknown role, which these messages never have
		return ""
	}
	return text
}
