package anthropicmodel

import "encoding/json"

// The wire types of a request. A block has the members of its type.
type (
	wireRequest struct {
		Model       string          `json:"model"`
		MaxTokens   int             `json:"max_tokens"`
		System      []block         `json:"system,omitempty"`
		Messages    []wireMessage   `json:"messages"`
		Tools       []wireTool      `json:"tools,omitempty"`
		ToolChoice  json.RawMessage `json:"tool_choice,omitempty"`
		Thinking    *wireThinking   `json:"thinking,omitempty"`
		Output      *wireOutput     `json:"output_config,omitempty"`
		Stop        []string        `json:"stop_sequences,omitempty"`
		Temperature *float64        `json:"temperature,omitempty"`
		Stream      bool            `json:"stream"`
	}
	wireMessage struct {
		Role    string  `json:"role"`
		Content []block `json:"content"`
	}
	block struct {
		Type      string          `json:"type"`
		Text      string          `json:"text,omitempty"`
		Thinking  *string         `json:"thinking,omitempty"` // may be empty
		Signature string          `json:"signature,omitempty"`
		Data      string          `json:"data,omitempty"` // redacted_thinking only
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Input     json.RawMessage `json:"input,omitempty"`
		CallID    string          `json:"tool_use_id,omitempty"`
		Content   []block         `json:"content,omitempty"` // tool_result only
		IsError   bool            `json:"is_error,omitempty"`
		Source    *source         `json:"source,omitempty"`
		ToolName  string          `json:"tool_name,omitempty"` // tool_reference only
		Cache     *cacheMark      `json:"cache_control,omitempty"`

		raw json.RawMessage // the whole block instead of the members above
	}
	source struct {
		Type      string `json:"type"` // base64, url or text
		MediaType string `json:"media_type,omitempty"`
		Data      string `json:"data,omitempty"`
		URL       string `json:"url,omitempty"`
	}
	cacheMark struct {
		Type string `json:"type"`
		TTL  string `json:"ttl,omitempty"`
	}
	wireTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"input_schema"`
		Strict      bool            `json:"strict,omitempty"`
		Deferred    bool            `json:"defer_loading,omitempty"` // the model reads the definition where a result refers to it
		Cache       *cacheMark      `json:"cache_control,omitempty"`
	}
	wireThinking struct {
		Type    string `json:"type"`
		Budget  int    `json:"budget_tokens,omitempty"`
		Display string `json:"display,omitempty"`
	}
	wireOutput struct {
		Effort string      `json:"effort,omitempty"`
		Format *wireFormat `json:"format,omitempty"`
	}
	wireFormat struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	}
)

// MarshalJSON writes raw if it is set, else the members.
func (b block) MarshalJSON() ([]byte, error) {
	if b.raw != nil {
		return b.raw, nil
	}
	type members block
	return json.Marshal(members(b))
}
