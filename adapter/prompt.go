package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// PromptMessages turns a prompt that a server has filled in into messages for a
// model. Images and sounds become [llms.BinaryContent]; resources become text,
// and images and sounds among them both.
func PromptMessages(res *mcp.GetPromptResult) []llms.MessageContent {
	out := make([]llms.MessageContent, len(res.Messages))
	for i, m := range res.Messages {
		out[i].Role = llms.ChatMessageTypeHuman
		if m.Role == "assistant" {
			out[i].Role = llms.ChatMessageTypeAI
		}
		out[i].Parts = promptParts(m.Content)
	}
	return out
}

func promptParts(c mcp.Content) []llms.ContentPart {
	r := rendering{room: (&Options{}).withDefaults().MaxMedia}
	r.add(c)
	_, picture := c.(*mcp.ImageContent)
	_, sound := c.(*mcp.AudioContent)
	if (picture || sound) && len(r.media) > 0 {
		return r.media
	}
	text := strings.ToValidUTF8(strings.Join(r.parts, "\n"), "\ufffd")
	return append([]llms.ContentPart{llms.TextPart(text)}, r.media...)
}

// PromptTemplate is a server's prompt as a langchaingo prompt template: it
// implements the interfaces of package prompts, FormatPrompter, MessageFormatter
// and Formatter. Each use asks the server to fill the prompt in.
//
// Its chat messages hold text only, as langchaingo's do; [PromptTemplate.Messages]
// has images and sounds as well.
type PromptTemplate struct {
	Server string // the host's label of the server, "" when there is none
	Client *mcpclient.Client
	Prompt *mcp.Prompt

	// Timeout bounds a use through langchaingo's interfaces, which have no
	// context. Default 30 s.
	Timeout time.Duration
}

// Messages has the prompt filled in. Values that are not strings are written as
// JSON; unknown ones are left out.
func (p *PromptTemplate) Messages(ctx context.Context, values map[string]any) ([]llms.MessageContent, error) {
	args, err := p.arguments(values)
	if err != nil {
		return nil, fmt.Errorf("prompt %q: %w", cut(p.Prompt.Name, 200), err)
	}
	res, err := p.Client.GetPrompt(ctx, p.Prompt.Name, args)
	if err != nil {
		return nil, err
	}
	return PromptMessages(res), nil
}

func (p *PromptTemplate) arguments(values map[string]any) (map[string]string, error) {
	args := map[string]string{}
	for _, a := range p.Prompt.Arguments {
		v, ok := values[a.Name]
		if !ok {
			if a.Required {
				return nil, fmt.Errorf("missing the value of %q", cut(a.Name, 200))
			}
			continue
		}
		text, ok := v.(string)
		if !ok {
			raw, err := json.Marshal(v)
			if err != nil {
				return nil, fmt.Errorf("the value of %q: %w", cut(a.Name, 200), err)
			}
			text = string(raw)
		}
		args[a.Name] = text
	}
	return args, nil
}

// GetInputVariables lists the names of the prompt's arguments.
func (p *PromptTemplate) GetInputVariables() []string {
	var out []string
	for _, a := range p.Prompt.Arguments {
		out = append(out, a.Name)
	}
	return out
}

// FormatMessages is Messages with chat messages.
func (p *PromptTemplate) FormatMessages(values map[string]any) ([]llms.ChatMessage, error) {
	timeout := p.Timeout
	if timeout <= 0 {
		timeout = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	messages, err := p.Messages(ctx, values)
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
			out = append(out, fmt.Sprintf("[%s, %s]", cut(part.MIMEType, 100), size(int64(len(part.Data)))))
		}
	}
	return strings.Join(out, "\n")
}

// FormatPrompt is FormatMessages as a prompt value.
func (p *PromptTemplate) FormatPrompt(values map[string]any) (llms.PromptValue, error) {
	messages, err := p.FormatMessages(values)
	if err != nil {
		return nil, err
	}
	return promptValue(messages), nil
}

// Format is FormatMessages as one text.
func (p *PromptTemplate) Format(values map[string]any) (string, error) {
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
	if err != nil { // a role that is unknown: there is none
		return ""
	}
	return text
}

// Prompts lists the prompts of all servers. Each range asks the servers again;
// the error of one does not end the list.
func (t *Toolset) Prompts(ctx context.Context) iter.Seq2[*PromptTemplate, error] {
	return func(yield func(*PromptTemplate, error) bool) {
		for _, s := range t.Servers() {
			if s.Err != nil || s.Client.Server().Capabilities.Prompts == nil {
				continue
			}
			for prompt, err := range s.Client.Prompts(ctx) {
				var p *PromptTemplate
				if err != nil {
					err = fmt.Errorf("server %q: %w", s.Name, err)
				} else {
					p = &PromptTemplate{Server: s.Name, Client: s.Client, Prompt: prompt}
				}
				if !yield(p, err) {
					return
				}
			}
		}
	}
}

// Prompt finds a prompt by the label of its server and its name.
func (t *Toolset) Prompt(ctx context.Context, server, name string) (*PromptTemplate, error) {
	var errs []error
	for p, err := range t.Prompts(ctx) {
		switch {
		case err != nil:
			errs = append(errs, err)
		case p.Server == server && p.Prompt.Name == name:
			return p, nil
		}
	}
	return nil, errors.Join(append([]error{fmt.Errorf("server %q has no prompt %q", server, cut(name, 200))}, errs...)...)
}
