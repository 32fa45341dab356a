package mcpclient

import (
	"encoding/base64"
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

// MarshalJSON implements [json.Marshaler].
func (c *TextContent) MarshalJSON() ([]byte, error) {
	return jsonrpc.Marshal(contentWire{Type: "text", Text: &c.Text, Annotations: c.Annotations, Meta: c.Meta})
}

// MarshalJSON implements [json.Marshaler].
func (c *ImageContent) MarshalJSON() ([]byte, error) {
	data := base64.StdEncoding.EncodeToString(c.Data)
	return jsonrpc.Marshal(contentWire{Type: "image", Data: &data, MIMEType: c.MIMEType, Annotations: c.Annotations, Meta: c.Meta})
}

// MarshalJSON implements [json.Marshaler].
func (c *AudioContent) MarshalJSON() ([]byte, error) {
	data := base64.StdEncoding.EncodeToString(c.Data)
	return jsonrpc.Marshal(contentWire{Type: "audio", Data: &data, MIMEType: c.MIMEType, Annotations: c.Annotations, Meta: c.Meta})
}

// MarshalJSON implements [json.Marshaler].
func (c *ResourceLink) MarshalJSON() ([]byte, error) {
	return jsonrpc.Marshal(struct {
		Type string `json:"type"`
		Resource
	}{"resource_link", c.Resource})
}

// MarshalJSON implements [json.Marshaler].
func (c *EmbeddedResource) MarshalJSON() ([]byte, error) {
	return jsonrpc.Marshal(contentWire{Type: "resource", Resource: &c.Resource, Annotations: c.Annotations, Meta: c.Meta})
}

// MarshalJSON implements [json.Marshaler].
func (c *ToolUseContent) MarshalJSON() ([]byte, error) {
	input := c.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return jsonrpc.Marshal(contentWire{Type: "tool_use", ID: c.ID, Name: c.Name, Input: input, Meta: c.Meta})
}

// MarshalJSON implements [json.Marshaler].
func (c *ToolResultContent) MarshalJSON() ([]byte, error) {
	blocks := c.Content
	if blocks == nil {
		blocks = []Content{}
	}
	content, err := jsonrpc.Marshal(blocks)
	if err != nil {
		return nil, err
	}
	return jsonrpc.Marshal(contentWire{
		Type: "tool_result", ToolUseID: c.ToolUseID, Content: content,
		StructuredContent: c.StructuredContent, IsError: c.IsError, Meta: c.Meta,
	})
}

// MarshalJSON implements [json.Marshaler].
func (c *UnknownContent) MarshalJSON() ([]byte, error) { return c.Raw, nil }

type resourceContentsWire struct {
	URI      string          `json:"uri"`
	MIMEType string          `json:"mimeType,omitempty"`
	Text     *string         `json:"text,omitempty"`
	Blob     *string         `json:"blob,omitempty"`
	Meta     json.RawMessage `json:"_meta,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (r ResourceContents) MarshalJSON() ([]byte, error) {
	w := resourceContentsWire{URI: r.URI, MIMEType: r.MIMEType, Meta: r.Meta}
	if r.Blob != nil {
		blob := base64.StdEncoding.EncodeToString(r.Blob)
		w.Blob = &blob
	} else {
		w.Text = &r.Text
	}
	return jsonrpc.Marshal(w)
}
