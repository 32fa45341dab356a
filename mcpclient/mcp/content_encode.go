package mcp

import (
	"encoding/base64"
	"encoding/json"

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
	Content           []Content         `json:"content,omitzero"` // not nil for a tool result
	StructuredContent json.RawMessage   `json:"structuredContent,omitempty"`
	IsError           bool              `json:"isError,omitempty"`
	Annotations       *Annotations      `json:"annotations,omitempty"`
	Meta              json.RawMessage   `json:"_meta,omitempty"`
}

// resourceContentsWire is a [ResourceContents] with either a text, which may be empty, or a blob.
type resourceContentsWire struct {
	URI      string          `json:"uri"`
	MIMEType string          `json:"mimeType,omitempty"`
	Text     *string         `json:"text,omitempty"`
	Blob     *string         `json:"blob,omitempty"`
	Meta     json.RawMessage `json:"_meta,omitempty"`
}

func (c *TextContent) MarshalJSON() ([]byte, error) {
	return jsonrpc.Marshal(contentWire{Type: "text", Text: &c.Text, Annotations: c.Annotations, Meta: c.Meta})
}

func (c *ImageContent) MarshalJSON() ([]byte, error) { return encodeMedia("image", c) }

func (c *AudioContent) MarshalJSON() ([]byte, error) { return encodeMedia("audio", (*ImageContent)(c)) }

// encodeMedia encodes an image, or audio, which has the same members.
func encodeMedia(kind string, c *ImageContent) ([]byte, error) {
	data := base64.StdEncoding.EncodeToString(c.Data)
	return jsonrpc.Marshal(contentWire{
		Type:        kind,
		Data:        &data,
		MIMEType:    c.MIMEType,
		Annotations: c.Annotations,
		Meta:        c.Meta,
	})
}

func (c *ResourceLink) MarshalJSON() ([]byte, error) {
	return jsonrpc.Marshal(struct {
		Type string `json:"type"`
		Resource
	}{"resource_link", c.Resource})
}

func (c *EmbeddedResource) MarshalJSON() ([]byte, error) {
	return jsonrpc.Marshal(contentWire{Type: "resource", Resource: &c.Resource, Annotations: c.Annotations, Meta: c.Meta})
}

func (c *ToolUseContent) MarshalJSON() ([]byte, error) {
	input := c.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return jsonrpc.Marshal(contentWire{
		Type:  "tool_use",
		ID:    c.ID,
		Name:  c.Name,
		Input: input,
		Meta:  c.Meta,
	})
}

func (c *ToolResultContent) MarshalJSON() ([]byte, error) {
	return jsonrpc.Marshal(contentWire{
		Type:              "tool_result",
		ToolUseID:         c.ToolUseID,
		Content:           nonNil(c.Content),
		StructuredContent: c.StructuredContent,
		IsError:           c.IsError,
		Meta:              c.Meta,
	})
}

// nonNil returns blocks, an empty slice instead of nil: JSON has a list even if there are none.
func nonNil(blocks []Content) []Content {
	if blocks == nil {
		return []Content{}
	}
	return blocks
}

func (c *UnknownContent) MarshalJSON() ([]byte, error) { return c.Raw, nil }

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
