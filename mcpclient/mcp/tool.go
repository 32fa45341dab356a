package mcp

import "encoding/json"

// Tool is a function that a server offers to models.
type Tool struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`

	// InputSchema and OutputSchema are JSON Schemas, byte for byte as the
	// server sent them. OutputSchema is nil when the tool has none.
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`

	Annotations *ToolAnnotations `json:"annotations,omitempty"`
	Icons       []Icon           `json:"icons,omitempty"`
	Execution   json.RawMessage  `json:"execution,omitempty"` // revision 2025-11-25: whether it can be a task, for mcpclient.WithTask
	Meta        json.RawMessage  `json:"_meta,omitempty"`
}

// DisplayName returns the name to show a person: title, annotated title, or name.
func (t *Tool) DisplayName() string {
	switch {
	case t.Title != "":
		return t.Title
	case t.Annotations != nil && t.Annotations.Title != "":
		return t.Annotations.Title
	}
	return t.Name
}

// ToolAnnotations are the server's hints about a tool. They are claims, not
// facts: base no decision about safety on them unless the server is trusted.
type ToolAnnotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`    // default false
	DestructiveHint *bool  `json:"destructiveHint,omitempty"` // default true
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`  // default false
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`   // default true
}
