package mcp

import "encoding/json"

// Content is one block of the output of a tool, a prompt or a model. The members
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
