package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// maxContentDepth bounds tool results inside tool results.
const maxContentDepth = 4

// block is a content block whose members are still as they came.
type block struct {
	kind, mimeType, text, data, resource                            []byte
	id, name, input, toolUseID, content, structuredContent, isError []byte
	annotations, meta                                               []byte
}

// decodeContent reads one block, which is an object.
func decodeContent(d *jsonrpc.Decoder, depth int) Content {
	if d.Kind() != '{' {
		d.Fail(fmt.Errorf("content block is not a JSON object: %s", excerpt.Quote(d.Raw())))
		return nil
	}
	var b block
	start := d.Offset()
	for key := range d.Members {
		if field := b.field(key); field != nil {
			*field = d.Raw()
		}
	}
	if d.Err() != nil {
		return nil
	}
	kind := jsonrpc.Plain(b.kind)
	raw := d.Since(start)
	if c := b.decode(d, kind, raw, depth); c != nil {
		return c
	}
	return &UnknownContent{Type: string(kind), Raw: bytes.Clone(raw)}
}

// field returns where the member with this name belongs, nil for an unknown one.
func (b *block) field(key []byte) *[]byte {
	switch string(key) {
	case "type":
		return &b.kind
	case "text":
		return &b.text
	case "data":
		return &b.data
	case "mimeType":
		return &b.mimeType
	case "resource":
		return &b.resource
	case "id":
		return &b.id
	case "name":
		return &b.name
	case "input":
		return &b.input
	case "toolUseId":
		return &b.toolUseID
	case "content":
		return &b.content
	case "structuredContent":
		return &b.structuredContent
	case "isError":
		return &b.isError
	case "annotations":
		return &b.annotations
	case "_meta":
		return &b.meta
	}
	return nil
}

// decode returns the content that b describes, or nil when its members do not fit its type.
func (b *block) decode(d *jsonrpc.Decoder, kind, raw []byte, depth int) Content {
	if d.Spend(b.annotations); d.Err() != nil {
		return nil
	}
	annotations, ok := decodeAnnotations(b.annotations)
	if !ok {
		return nil
	}
	switch string(kind) {
	case "text":
		if text, ok := jsonrpc.String(b.text); ok {
			return &TextContent{Text: text, Annotations: annotations, Meta: bytes.Clone(b.meta)}
		}
	case "image", "audio":
		data, fits := jsonrpc.Base64(b.data)
		mimeType, ok := jsonrpc.OptionalString(b.mimeType)
		switch {
		case !fits || !ok:
		case string(kind) == "image":
			return &ImageContent{Data: data, MIMEType: mimeType, Annotations: annotations, Meta: bytes.Clone(b.meta)}
		default:
			return &AudioContent{Data: data, MIMEType: mimeType, Annotations: annotations, Meta: bytes.Clone(b.meta)}
		}
	case "resource_link":
		link := new(ResourceLink)
		if d.Spend(raw); d.Err() != nil {
			return nil
		}
		if json.Unmarshal(raw, &link.Resource) == nil && link.URI != "" {
			return link
		}
	case "resource":
		var r ResourceContents
		inner := jsonrpc.NewDecoder(b.resource, jsonrpc.MaxElements)
		if r.decode(&inner); inner.Err() == nil && r.URI != "" {
			return &EmbeddedResource{Resource: r, Annotations: annotations, Meta: bytes.Clone(b.meta)}
		}
	case "tool_use":
		return b.toolUse()
	case "tool_result":
		return b.toolResult(d, depth)
	}
	return nil
}

func (b *block) toolUse() Content {
	id, ok1 := jsonrpc.String(b.id)
	name, ok2 := jsonrpc.String(b.name)
	if !ok1 || !ok2 || id == "" || name == "" || b.input != nil && !jsonrpc.IsObject(b.input) {
		return nil
	}
	return &ToolUseContent{ID: id, Name: name, Input: bytes.Clone(b.input), Meta: bytes.Clone(b.meta)}
}

func (b *block) toolResult(d *jsonrpc.Decoder, depth int) Content {
	id, ok1 := jsonrpc.String(b.toolUseID)
	failed, ok2 := jsonrpc.Boolean(b.isError)
	if !ok1 || !ok2 || id == "" || depth == 0 {
		return nil
	}
	var blocks []Content
	if len(b.content) > 0 {
		err := d.Within(b.content, func(inner *jsonrpc.Decoder) { blocks = readContents(inner, depth-1) })
		if err != nil {
			return nil
		}
	}
	return &ToolResultContent{
		ToolUseID:         id,
		Content:           blocks,
		StructuredContent: bytes.Clone(b.structuredContent),
		IsError:           failed,
		Meta:              bytes.Clone(b.meta),
	}
}

// decodeContents reads the blocks of text of its own; see [readContents].
func decodeContents(raw []byte, depth int) ([]Content, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := jsonrpc.NewDecoder(raw, jsonrpc.MaxElements)
	blocks := readContents(&d, depth)
	return blocks, d.Err()
}

// readContents reads an array of blocks; one block alone and null are accepted too, as sampling messages have both forms.
func readContents(d *jsonrpc.Decoder, depth int) []Content {
	switch d.Kind() {
	case '{':
		return []Content{decodeContent(d, depth)}
	case 'n':
		d.Raw()
		return nil
	case '[':
	default:
		d.Fail(fmt.Errorf("content is neither a block nor a list of blocks: %s", excerpt.Quote(d.Raw())))
		return nil
	}
	blocks := []Content{}
	for range d.Elements {
		blocks = append(blocks, decodeContent(d, depth))
	}
	return blocks
}

// decode reads the contents of a resource.
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
