package langchain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// PromptMessages asks the server for the messages of a prompt. Values that are not strings are sent as JSON. Values
// that the prompt has no argument for are ignored; a required argument without a value is an error.
func PromptMessages(
	ctx context.Context, client *mcpclient.Client, prompt *mcp.Prompt, values map[string]any,
) ([]llms.MessageContent, error) {
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
