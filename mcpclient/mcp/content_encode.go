package mcp

import (
	"encoding/json"
	"errors"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

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
	Content           json.RawMessage   `json:"content,omitempty"`
	StructuredContent json.RawMessage   `json:"structuredContent,omitempty"`
	IsError           bool              `json:"isError,omitempty"`
	Annotations       *Annotations      `json:"annotations,omitempty"`
	Meta              json.RawMessage   `json:"_meta,omitempty"`
}

// EncodeContent writes one content block in its wire form.
func EncodeContent(c Content) (json.RawMessage, error) {
	if c == nil {
		return nil, errors.New("encode content: no block")
	}
	return jsonrpc.Marshal(c)
}

type resourceContentsWire struct {
	URI      string          `json:"uri"`
	MIMEType string          `json:"mimeType,omitempty"`
	Text     *string         `json:"text,omitempty"`
	Blob     *string         `json:"blob,omitempty"`
	Meta     json.RawMessage `json:"_meta,omitempty"`
}
