package mcpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

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

// AudioContent is a sound, decoded from its base64 form. It exists since
// revision 2025-03-26.
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

// ToolUseContent is a model's wish to call a tool, in sampling messages since
// revision 2025-11-25.
type ToolUseContent struct {
	ID    string
	Name  string
	Input json.RawMessage // a JSON object
	Meta  json.RawMessage
}

// ToolResultContent answers a [ToolUseContent], in sampling messages since
// revision 2025-11-25.
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

// Annotations say for whom a block is and how much it matters.
type Annotations struct {
	Audience     []string `json:"audience,omitempty"` // "user", "assistant"
	Priority     *float64 `json:"priority,omitempty"` // 0 to 1
	LastModified string   `json:"lastModified,omitempty"`
}

// ResourceContents is what a resource holds: Text, or Blob when the resource
// is binary.
type ResourceContents struct {
	URI      string
	MIMEType string
	Text     string
	Blob     []byte // non-nil exactly when the server sent a blob
	Meta     json.RawMessage
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
	Content           json.RawMessage   `json:"content,omitempty"`
	StructuredContent json.RawMessage   `json:"structuredContent,omitempty"`
	IsError           bool              `json:"isError,omitempty"`
	Annotations       *Annotations      `json:"annotations,omitempty"`
	Meta              json.RawMessage   `json:"_meta,omitempty"`
}

// DecodeContent reads one content block. A block of an unknown type, or one
// that does not fit its type, becomes an [*UnknownContent]; only text that is
// not a JSON object is an error.
func DecodeContent(raw json.RawMessage) (Content, error) {
	if !json.Valid(raw) {
		return nil, fmt.Errorf("content block is not valid JSON: %s", quote(raw))
	}
	return decodeContent(raw, maxContentDepth)
}

// maxContentDepth bounds tool results inside tool results.
const maxContentDepth = 4

func decodeContent(raw json.RawMessage, depth int) (Content, error) {
	if !isObject(raw) {
		return nil, fmt.Errorf("content block is not a JSON object: %s", quote(raw))
	}
	var w contentWire
	err := json.Unmarshal(raw, &w)
	if err != nil {
		w.Type = contentType(raw)
	}
	switch {
	case w.Type == "resource_link":
		link := new(ResourceLink)
		if err := json.Unmarshal(raw, &link.Resource); err == nil && link.URI != "" {
			return link, nil
		}
	case err == nil:
		if c := w.content(depth); c != nil {
			return c, nil
		}
	}
	return unknownContent(w.Type, raw), nil
}

// contentType reads the type of a block that does not fit it.
func contentType(raw json.RawMessage) string {
	var head struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(raw, &head)
	return head.Type
}

// isObject reports whether raw, which is valid JSON, is an object.
func isObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}

func unknownContent(typ string, raw json.RawMessage) *UnknownContent {
	return &UnknownContent{Type: typ, Raw: append(json.RawMessage(nil), raw...)}
}

// content returns the member that w describes, or nil when its fields do not
// fit its type.
func (w *contentWire) content(depth int) Content {
	switch w.Type {
	case "text":
		if w.Text == nil {
			return nil
		}
		return &TextContent{Text: *w.Text, Annotations: w.Annotations, Meta: w.Meta}
	case "image", "audio":
		if w.Data == nil {
			return nil
		}
		data, err := base64.StdEncoding.DecodeString(*w.Data)
		if err != nil {
			return nil
		}
		if w.Type == "image" {
			return &ImageContent{Data: data, MIMEType: w.MIMEType, Annotations: w.Annotations, Meta: w.Meta}
		}
		return &AudioContent{Data: data, MIMEType: w.MIMEType, Annotations: w.Annotations, Meta: w.Meta}
	case "resource":
		if w.Resource == nil || w.Resource.URI == "" {
			return nil
		}
		return &EmbeddedResource{Resource: *w.Resource, Annotations: w.Annotations, Meta: w.Meta}
	case "tool_use":
		if w.ID == "" || w.Name == "" || w.Input != nil && !isObject(w.Input) {
			return nil
		}
		return &ToolUseContent{ID: w.ID, Name: w.Name, Input: w.Input, Meta: w.Meta}
	case "tool_result":
		if w.ToolUseID == "" || depth == 0 {
			return nil
		}
		blocks, err := decodeContents(w.Content, depth-1)
		if err != nil {
			return nil
		}
		return &ToolResultContent{
			ToolUseID: w.ToolUseID, Content: blocks, StructuredContent: w.StructuredContent,
			IsError: w.IsError, Meta: w.Meta,
		}
	}
	return nil
}

// decodeContents reads an array of blocks; one block alone and nothing at all
// are accepted too, as sampling messages have both forms.
func decodeContents(raw json.RawMessage, depth int) ([]Content, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '{' {
		c, err := decodeContent(raw, depth)
		if err != nil {
			return nil, err
		}
		return []Content{c}, nil
	}
	if raw[0] == '[' {
		if err := jsonrpc.LimitArray(raw, maxElements); err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return nil, fmt.Errorf("content is neither a block nor a list of blocks: %s", quote(raw))
	}
	out := make([]Content, 0, len(blocks))
	for i, b := range blocks {
		c, err := decodeContent(b, depth)
		if err != nil {
			return nil, fmt.Errorf("content block %d: %w", i, err)
		}
		out = append(out, c)
	}
	return out, nil
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

// UnmarshalJSON implements [json.Unmarshaler].
func (r *ResourceContents) UnmarshalJSON(data []byte) error {
	var w resourceContentsWire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*r = ResourceContents{URI: w.URI, MIMEType: w.MIMEType, Meta: w.Meta}
	switch {
	case w.Blob != nil:
		blob, err := base64.StdEncoding.DecodeString(*w.Blob)
		if err != nil {
			return fmt.Errorf("resource %q: blob is not base64: %v", cut(w.URI), err)
		}
		r.Blob = blob
		if r.Blob == nil {
			r.Blob = []byte{}
		}
	case w.Text != nil:
		r.Text = *w.Text
	}
	return nil
}
