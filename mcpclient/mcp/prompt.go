package mcp

import (
	"bytes"
	"encoding/json"
	"errors"

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

// PromptArgument is one argument of a [Prompt].
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
		d.Fail(errors.New("message has no content"))
	}
}

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

// CompleteParams asks for completions of an argument of a prompt or of a resource template.
type CompleteParams struct {
	Prompt   string // the name of the prompt
	Template string // [ResourceTemplate.URITemplate], instead of Prompt
	Argument string // the name of the argument
	Value    string // what has been typed so far

	// Filled holds the arguments that are known already. It is sent since
	// revision 2025-06-18; earlier servers complete without it.
	Filled map[string]string
}

// Completion is a server's proposals for the value of an argument.
type Completion struct {
	Values  []string // the best first, at most 100
	Total   *int     // how many there are in all; nil if the server does not say
	HasMore bool     // there are more than Values
}
