package mcp

import (
	"encoding/base64"
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Content is one block of the output of a tool, a prompt or a model. The members are [*TextContent], [*ImageContent],
// [*AudioContent], [*ResourceLink], [*EmbeddedResource], [*ToolUseContent], [*ToolResultContent] and, for a block of a
// type that this package does not know or cannot read, [*UnknownContent].
//
// Blocks are decoded once and belong to the caller.
type Content interface {
	isContent()
}

// TextContent is plain text.
type TextContent struct {
	Text        string
	Annotations *Annotations
	Meta        json.RawMessage // _meta as received, nil when absent
}

// ImageContent is an image, decoded from its base64 form.
type ImageContent struct {
	Data        []byte
	MIMEType    string
	Annotations *Annotations
	Meta        json.RawMessage
}

// AudioContent is audio, decoded from its base64 form. It exists since revision 2025-03-26.
type AudioContent struct {
	Data        []byte
	MIMEType    string
	Annotations *Annotations
	Meta        json.RawMessage
}

// ResourceLink names a resource that the client may read. The resource need
// not appear in the server's list. It exists since revision 2025-06-18.
type ResourceLink struct {
	Resource
}

// EmbeddedResource carries the contents of a resource.
type EmbeddedResource struct {
	Resource    ResourceContents
	Annotations *Annotations
	Meta        json.RawMessage
}

// ToolUseContent is a model's request to call a tool, in sampling messages since revision 2025-11-25.
type ToolUseContent struct {
	ID    string
	Name  string
	Input json.RawMessage // a JSON object
	Meta  json.RawMessage
}

// ToolResultContent answers a [ToolUseContent], in sampling messages since revision 2025-11-25.
type ToolResultContent struct {
	ToolUseID         string
	Content           []Content
	StructuredContent json.RawMessage // nil when absent
	IsError           bool
	Meta              json.RawMessage
}

// UnknownContent keeps a block whose type this package does not know, or whose
// fields do not fit its type, as the server sent it.
type UnknownContent struct {
	Type string
	Raw  json.RawMessage
}

func (*TextContent) isContent()       {}
func (*ImageContent) isContent()      {}
func (*AudioContent) isContent()      {}
func (*ResourceLink) isContent()      {}
func (*EmbeddedResource) isContent()  {}
func (*ToolUseContent) isContent()    {}
func (*ToolResultContent) isContent() {}
func (*UnknownContent) isContent()    {}

// ResourceContents is what a resource holds: Text, or Blob when the resource is binary.
type ResourceContents struct {
	URI      string          `json:"uri"`
	MIMEType string          `json:"mimeType"`
	Text     string          `json:"text"`
	Blob     []byte          `json:"blob"` // non-nil exactly when the server sent a blob
	Meta     json.RawMessage `json:"_meta"`
}

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
