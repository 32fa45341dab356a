package mcpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// maxContentDepth bounds tool results inside tool results.
const maxContentDepth = 4

// DecodeContent reads one content block. A block of an unknown type, or one
// that does not fit its type, becomes an [*UnknownContent]; only text that is
// not a JSON object is an error.
func DecodeContent(raw json.RawMessage) (Content, error) {
	if err := jsonrpc.Check(raw); err != nil {
		return nil, fmt.Errorf("content block: %w: %s", err, quote(raw))
	}
	d := jsonrpc.NewDecoder(raw, maxElements)
	c := decodeContent(&d, maxContentDepth)
	return c, d.Err()
}

// block is a content block whose members are still as they came.
type block struct {
	kind, mimeType, text, data, resource                            []byte
	id, name, input, toolUseID, content, structuredContent, isError []byte
	annotations, meta                                               []byte
}

// decodeContent reads one block, which is an object.
func decodeContent(d *jsonrpc.Decoder, depth int) Content {
	if d.Kind() != '{' {
		d.Fail(fmt.Errorf("content block is not a JSON object: %s", quote(d.Raw())))
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
	kind := plain(b.kind)
	raw := d.Since(start)
	if c := b.decode(d, kind, raw, depth); c != nil {
		return c
	}
	return &UnknownContent{Type: string(kind), Raw: bytes.Clone(raw)}
}

// field is where the member called key belongs, nil for one that is unknown.
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

// decode returns the content that b describes, or nil when its members do not
// fit its type.
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
		data, fits := decodeBase64(b.data)
		mimeType, ok := optionalString(b.mimeType)
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
		if r.UnmarshalJSON(b.resource) == nil && r.URI != "" {
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
	if !ok1 || !ok2 || id == "" || name == "" || b.input != nil && !isObject(b.input) {
		return nil
	}
	return &ToolUseContent{ID: id, Name: name, Input: bytes.Clone(b.input), Meta: bytes.Clone(b.meta)}
}

func (b *block) toolResult(d *jsonrpc.Decoder, depth int) Content {
	id, ok1 := jsonrpc.String(b.toolUseID)
	failed, ok2 := boolean(b.isError)
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
		ToolUseID: id, Content: blocks, StructuredContent: bytes.Clone(b.structuredContent),
		IsError: failed, Meta: bytes.Clone(b.meta),
	}
}

// decodeContents reads the blocks of text of its own; see [readContents].
func decodeContents(raw []byte, depth int) ([]Content, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := jsonrpc.NewDecoder(raw, maxElements)
	blocks := readContents(&d, depth)
	return blocks, d.Err()
}

// readContents reads an array of blocks; one block alone and null are accepted too,
// as sampling messages have both forms.
func readContents(d *jsonrpc.Decoder, depth int) []Content {
	switch d.Kind() {
	case '{':
		return []Content{decodeContent(d, depth)}
	case 'n':
		d.Raw()
		return nil
	case '[':
	default:
		d.Fail(fmt.Errorf("content is neither a block nor a list of blocks: %s", quote(d.Raw())))
		return nil
	}
	blocks := []Content{}
	for i := range d.Elements {
		if d.Kind() != '{' {
			d.Fail(fmt.Errorf("content block %d is not a JSON object: %s", i, quote(d.Raw())))
			return nil
		}
		blocks = append(blocks, decodeContent(d, depth))
	}
	return blocks
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *ResourceContents) UnmarshalJSON(data []byte) error {
	d := jsonrpc.NewDecoder(data, maxElements)
	r.decode(&d)
	return d.Err()
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
	r.URI = stringMember(d, "uri", uri)
	r.MIMEType = stringMember(d, "mimeType", mimeType)
	if blob == nil || string(blob) == "null" {
		r.Text = stringMember(d, "text", text)
		return
	}
	var ok bool
	if r.Blob, ok = decodeBase64(blob); !ok {
		d.Fail(fmt.Errorf("resource %q: blob is not base64: %s", cut(r.URI), quote(blob)))
	}
}

// unmarshalMember decodes a member that is not worth decoding by hand.
func unmarshalMember(d *jsonrpc.Decoder, name string, into any) {
	raw := d.Raw()
	if d.Spend(raw); d.Err() != nil {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		d.Fail(fmt.Errorf("member %q: %v", name, err))
	}
}

// membersOf ranges over the names of an object that may be null, or [] where it is
// empty.
func membersOf(d *jsonrpc.Decoder) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { eachMember(d, yield) }
}

func eachMember(d *jsonrpc.Decoder, yield func(name []byte) bool) {
	switch d.Kind() {
	case 'n':
	case '[':
		if raw := d.Raw(); !emptyList(raw) {
			d.Fail(fmt.Errorf("want an object, got %s", quote(raw)))
		}
	default:
		d.Members(yield)
	}
}

// emptyList reports a list without elements, which is how PHP writes an object
// without members.
func emptyList(raw []byte) bool {
	return len(raw) >= 2 && raw[0] == '[' && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
}

// objectMember is [unmarshalMember] for an object that may be [] where it is empty.
func objectMember(d *jsonrpc.Decoder, name string, into any) {
	if d.Kind() != '[' {
		unmarshalMember(d, name, into)
		return
	}
	for range membersOf(d) {
		continue
	}
}

// mapMember decodes a member that is an object, of a bounded number of members, or
// null, or [] where it is empty.
func mapMember(d *jsonrpc.Decoder, name string) map[string]json.RawMessage {
	raw := d.Raw()
	if d.Err() != nil || string(raw) == "null" || emptyList(raw) {
		return nil
	}
	all, err := jsonrpc.Object(raw, maxElements)
	if err != nil {
		d.Fail(fmt.Errorf("member %q: %w", name, err))
	}
	return all
}

// stringsMember decodes a member that is a list of strings, or null.
func stringsMember(d *jsonrpc.Decoder, name string) (all []string) {
	if d.Kind() == 'n' {
		return nil
	}
	for range d.Elements {
		all = append(all, stringMember(d, name, d.Raw()))
	}
	return all
}

// booleanMember decodes a member that may be null.
func booleanMember(d *jsonrpc.Decoder, name string) bool {
	raw := d.Raw()
	b, ok := boolean(raw)
	if !ok {
		d.Fail(fmt.Errorf("member %q is not a boolean: %s", name, quote(raw)))
	}
	return b
}

// stringMember decodes a member that may be absent or null.
func stringMember(d *jsonrpc.Decoder, name string, raw []byte) string {
	s, ok := optionalString(raw)
	if !ok {
		d.Fail(fmt.Errorf("member %q is not a string: %s", name, quote(raw)))
	}
	return s
}

// optionalString decodes a string that may be absent or null.
func optionalString(raw []byte) (s string, ok bool) {
	if raw == nil || string(raw) == "null" {
		return "", true
	}
	return jsonrpc.String(raw)
}

// boolean decodes a boolean that may be absent or null.
func boolean(raw []byte) (b, ok bool) {
	switch string(raw) {
	case "true":
		return true, true
	case "", "false", "null":
		return false, true
	}
	return false, false
}

// plain returns what stands between the quotes of a string.
func plain(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		s, _ := jsonrpc.String(raw)
		return []byte(s)
	}
	return raw[1 : len(raw)-1]
}

// decodeBase64 decodes a string that is base64; the result is not nil.
func decodeBase64(raw []byte) (data []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	text := plain(raw)
	data = make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text)
	return data[:n], err == nil
}

// isObject reports whether raw, which is valid JSON, is an object.
func isObject(raw []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}
