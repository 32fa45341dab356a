package mcp

import "encoding/json"

// contentWire is the union of all fields that content blocks have.
type contentWire struct {
	Type              string            `json:"type"`
	Text              *string           `json:"text,omitempty"`
	Data              *string           `json:"data,omitempty"`
	MIMEType          string            `json:"mimeType,omitempty"`
	Resource          *ResourceContents `json:"resource,omitempty"`
	ID                string            `json:"id,omitempty"`
	Name              string            `json:"name,omitempty"`
	Input             json.RawMessage   `json:"input,omitempty"`
	ToolUseID         string            `json:"toolUseId,omitempty"`
	Content           []Content         `json:"content,omitzero"` // not nil for a tool result
	StructuredContent json.RawMessage   `json:"structuredContent,omitempty"`
	IsError           bool              `json:"isError,omitempty"`
	Annotations       *Annotations      `json:"annotations,omitempty"`
	Meta              json.RawMessage   `json:"_meta,omitempty"`
}

type resourceContentsWire struct {
	URI      string          `json:"uri"`
	MIMEType string          `json:"mimeType,omitempty"`
	Text     *string         `json:"text,omitempty"`
	Blob     *string         `json:"blob,omitempty"`
	Meta     json.RawMessage `json:"_meta,omitempty"`
}
