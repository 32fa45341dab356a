package fakehost

import (
	"encoding/json"
	"errors"
	"maps"
)

// ClaudeRequest is a request of the Messages API that passed all checks.
type ClaudeRequest struct {
	Model       string                     `json:"model"`
	MaxTokens   int                        `json:"max_tokens"`
	System      []Content                  `json:"system"`
	Messages    []Message                  `json:"messages"`
	Tools       []Tool                     `json:"tools"`
	Choice      map[string]string          `json:"tool_choice"`
	Thinking    map[string]any             `json:"thinking"`
	Output      map[string]json.RawMessage `json:"output_config"`
	Temperature *float64                   `json:"temperature"`
	Usage       Usage                      `json:"-"`

	rule claudeRule
}

// Message is a message of a request.
type Message struct {
	Role    string    `json:"role"`
	Content []Content `json:"content"`
}

// Content is a block of a message. Raw has all of its members.
type Content struct {
	Type      string    `json:"type"`
	Text      string    `json:"text"`
	Thinking  string    `json:"thinking"`
	Signature string    `json:"signature"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CallID    string    `json:"tool_use_id"`
	ToolName  string    `json:"tool_name"`
	Content   []Content `json:"content"`
	IsError   bool      `json:"is_error"`

	Raw map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps all members in Raw.
func (c *Content) UnmarshalJSON(data []byte) error {
	type plain Content
	return errors.Join(json.Unmarshal(data, (*plain)(c)), json.Unmarshal(data, &c.Raw))
}

// Tool is the definition of a tool. Raw has all of its members.
type Tool struct {
	Name     string                     `json:"name"`
	Deferred bool                       `json:"defer_loading"`
	Raw      map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps all members in Raw.
func (t *Tool) UnmarshalJSON(data []byte) error {
	type plain Tool
	return errors.Join(json.Unmarshal(data, (*plain)(t)), json.Unmarshal(data, &t.Raw))
}

func (r *ClaudeRequest) thinks() bool {
	kind, _ := r.Thinking["type"].(string)
	return kind != "" && kind != "disabled"
}

// cacheBlock is a block of a request without its mark of the cache.
type cacheBlock struct {
	text   []byte
	marked bool
}

// cacheBlocks returns the blocks in the order in which the cache reads them.
func (r *ClaudeRequest) cacheBlocks() (blocks []cacheBlock) {
	add := func(raw map[string]json.RawMessage, context ...any) {
		unmarked := maps.Clone(raw)
		delete(unmarked, "cache_control")
		blocks = append(blocks, cacheBlock{encode(append(context, unmarked)), raw["cache_control"] != nil})
	}
	for _, t := range r.Tools {
		if !t.Deferred {
			add(t.Raw)
		}
	}
	for _, c := range r.System {
		add(c.Raw)
	}
	for _, m := range r.Messages {
		for _, c := range m.Content {
			add(c.Raw, m.Role, r.referredTools(&c))
		}
	}
	return blocks
}

// referredTools returns the definitions of the tools that a result refers to: the model reads them there.
func (r *ClaudeRequest) referredTools(c *Content) (tools []map[string]json.RawMessage) {
	for _, inner := range c.Content {
		for _, t := range r.Tools {
			if inner.Type == "tool_reference" && t.Name == inner.ToolName {
				tools = append(tools, t.Raw)
			}
		}
	}
	return tools
}
