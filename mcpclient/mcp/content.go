package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Content is one block of what a tool, a prompt or a model says. The members
// are [*TextContent], [*ImageContent], [*AudioContent], [*ResourceLink],
// [*EmbeddedResource], [*ToolUseContent], [*ToolResultContent] and, for a block
// of a type that this package does not know or cannot read, [*UnknownContent].
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

// ToolUseContent is a model's request to call a tool, in sampling messages since revision
// 2025-11-25.
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

func (r *ResourceContents) decode(d *jsonrpc.Decoder) {
	var uri, mimeType, text, blob, meta []byte
	for key := range d.Members {
		switch string(key) {
		case "uri":
			uri = d.Raw()
		case "mimeType":
			mimeType = d.Raw()
		case "text":
			text = d.Raw()
		case "blob":
			blob = d.Raw()
		case "_meta":
			meta = d.Raw()
		}
	}
	*r = ResourceContents{Meta: bytes.Clone(meta)}
	r.URI = jsonrpc.StringMember(d, "uri", uri)
	r.MIMEType = jsonrpc.StringMember(d, "mimeType", mimeType)
	if blob == nil || string(blob) == "null" {
		r.Text = jsonrpc.StringMember(d, "text", text)
		return
	}
	var ok bool
	if r.Blob, ok = jsonrpc.Base64(blob); !ok {
		d.Fail(fmt.Errorf("resource %q: blob is not base64: %s", excerpt.Cut(r.URI), excerpt.Quote(blob)))
	}
}

// MarshalJSON implements [json.Marshaler].
func (c *TextContent) MarshalJSON() ([]byte, error) {
	return jsonrpc.Marshal(contentWire{Type: "text", Text: &c.Text, Annotations: c.Annotations, Meta: c.Meta})
}

// MarshalJSON implements [json.Marshaler].
func (c *ImageContent) MarshalJSON() ([]byte, error) {
	data := base64.StdEncoding.EncodeToString(c.Data)
	return jsonrpc.Marshal(contentWire{
		Type:        "image",
		Data:        &data,
		MIMEType:    c.MIMEType,
		Annotations: c.Annotations,
		Meta:        c.Meta,
	})
}

// MarshalJSON implements [json.Marshaler].
func (c *AudioContent) MarshalJSON() ([]byte, error) {
	data := base64.StdEncoding.EncodeToString(c.Data)
	return jsonrpc.Marshal(contentWire{
		Type:        "audio",
		Data:        &data,
		MIMEType:    c.MIMEType,
		Annotations: c.Annotations,
		Meta:        c.Meta,
	})
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
	return jsonrpc.Marshal(contentWire{
		Type:  "tool_use",
		ID:    c.ID,
		Name:  c.Name,
		Input: input,
		Meta:  c.Meta,
	})
}

// MarshalJSON implements [json.Marshaler].
func (c *ToolResultContent) MarshalJSON() ([]byte, error) {
	return jsonrpc.Marshal(contentWire{
		Type: "tool_result", ToolUseID: c.ToolUseID, Content: list(c.Content),
		StructuredContent: c.StructuredContent, IsError: c.IsError, Meta: c.Meta,
	})
}

// list returns blocks, which JSON has as a list even if there are none.
func list(blocks []Content) []Content {
	if blocks == nil {
		return []Content{}
	}
	return blocks
}

// MarshalJSON implements [json.Marshaler].
func (c *UnknownContent) MarshalJSON() ([]byte, error) { return c.Raw, nil }

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
