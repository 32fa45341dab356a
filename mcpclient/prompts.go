package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Prompt is a template for messages that a server offers to people.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Icons       []Icon           `json:"icons,omitempty"`
	Meta        json.RawMessage  `json:"_meta,omitempty"`
}

// PromptArgument is one blank of a [Prompt].
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// PromptMessage is one message of a filled-in prompt.
type PromptMessage struct {
	Role    string // "user" or "assistant"
	Content Content
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *PromptMessage) UnmarshalJSON(data []byte) error {
	d := jsonrpc.NewDecoder(data, jsonrpc.MaxElements)
	m.decode(&d)
	return d.Err()
}

func (m *PromptMessage) decode(d *jsonrpc.Decoder) {
	for key := range d.Members {
		switch string(key) {
		case "role":
			m.Role = jsonrpc.StringMember(d, "role", d.Raw())
		case "content":
			m.Content = decodeContent(d, maxContentDepth)
		}
	}
	if m.Content == nil {
		d.Fail(errors.New("a message has no content"))
	}
}

// MarshalJSON implements [json.Marshaler].
func (m PromptMessage) MarshalJSON() ([]byte, error) {
	return jsonrpc.Marshal(struct {
		Role    string  `json:"role"`
		Content Content `json:"content"`
	}{m.Role, m.Content})
}

// GetPromptResult is a filled-in prompt.
type GetPromptResult struct {
	Description string          `json:"description,omitempty"`
	Messages    []PromptMessage `json:"messages"`
	Meta        json.RawMessage `json:"_meta,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *GetPromptResult) UnmarshalJSON(data []byte) error {
	d := jsonrpc.NewDecoder(data, jsonrpc.MaxElements)
	r.decode(&d)
	return d.Err()
}

func (r *GetPromptResult) decode(d *jsonrpc.Decoder) {
	for key := range d.Members {
		switch string(key) {
		case "description":
			r.Description = jsonrpc.StringMember(d, "description", d.Raw())
		case "messages":
			r.Messages = nil // the last of equal members counts
			if d.Kind() == 'n' {
				continue
			}
			for range d.Elements {
				var m PromptMessage
				m.decode(d)
				r.Messages = append(r.Messages, m)
			}
		case "_meta":
			r.Meta = bytes.Clone(d.Raw())
		}
	}
}

// Prompts lists the server's prompts over all pages. Each range asks the
// server anew, except for pages that it said still hold (see
// [Limits.Cache]); an error is the last pair.
func (c *Client) Prompts(ctx context.Context, opts ...CallOption) iter.Seq2[*Prompt, error] {
	return list[Prompt](ctx, c, "prompts/list", "prompts", opts)
}

// GetPrompt fills in the prompt called name. args is a map[string]string, or a value
// that encoding/json makes an object of, such as a struct: its numbers and booleans
// become strings, which is all that an argument of a prompt can be, and its nulls are
// left out. It may be nil.
func (c *Client) GetPrompt(ctx context.Context, name string, args any, opts ...CallOption) (*GetPromptResult, error) {
	arguments, err := promptArguments(args)
	if err != nil {
		return nil, fmt.Errorf("get prompt %q: arguments: %w", name, err)
	}
	params, err := encodeArguments(name, arguments)
	if err != nil {
		return nil, fmt.Errorf("get prompt %q: %w", name, err)
	}
	result := new(GetPromptResult)
	err = c.call(ctx, &request{method: "prompts/get", target: name, params: params}, result, opts)
	if err != nil {
		return nil, fmt.Errorf("get prompt %q: %w", name, err)
	}
	return result, nil
}

// promptArguments makes arguments of which each is a string.
func promptArguments(args any) (any, error) {
	if texts, ok := args.(map[string]string); ok {
		if texts == nil {
			return nil, nil
		}
		return texts, nil
	}
	object, err := jsonrpc.EncodeParams(args)
	if err != nil || object == nil {
		return nil, err
	}
	texts := []byte{'{'}
	var bad error
	err = jsonrpc.Members(object, func(key, value []byte) {
		switch value[0] {
		case 'n':
		case '{', '[':
			bad = errors.Join(bad, fmt.Errorf("%q is no string, number or boolean: %s", excerpt.Cut(string(key)), excerpt.Cut(string(value))))
		case '"':
			texts = jsonrpc.AppendMember(texts, string(key), value)
		default:
			texts = jsonrpc.AppendMember(texts, string(key), jsonrpc.AppendString(nil, string(value)))
		}
	})
	return json.RawMessage(jsonrpc.CloseObject(texts)), errors.Join(err, bad)
}
