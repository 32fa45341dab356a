package adapter

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Texts for results without text, and for media.
const (
	noContent = "(the tool returned no content)"
	noReason  = "(the tool failed without giving a reason)"

	tooLarge      = ", left out because it is too large"
	waitsForInput = "(the tool waits for input; it has not finished)"
)

// rendering builds the text and media of a result.
type rendering struct {
	parts     []string
	media     []llms.ContentPart
	hasText   bool // the tool returned text
	mediaLeft int  // bytes left for media
}

// render returns the text of a result, which is never empty, and its media, of at most limit bytes.
func render(res *mcp.CallToolResult, limit int) (string, []llms.ContentPart) {
	text, media := renderContent(res, limit)
	text = strings.ToValidUTF8(text, "\ufffd")
	blank := strings.TrimSpace(text) == ""
	switch {
	case blank && res.IsError:
		text = noReason
	case blank:
		text = noContent
	}
	if res.IsError {
		text = withErrorPrefix(text)
	}
	return text, media
}

// renderContent returns the text and media of a result, without a note for an empty or failed one.
func renderContent(res *mcp.CallToolResult, limit int) (string, []llms.ContentPart) {
	structured := bytes.TrimSpace(res.StructuredContent)
	if len(structured) == 0 && len(res.Content) == 1 {
		if only, ok := res.Content[0].(*mcp.TextContent); ok {
			return only.Text, nil
		}
	}
	r := rendering{mediaLeft: limit}
	for _, c := range res.Content {
		r.add(c)
	}
	// "a tool that returns structured content SHOULD also return the serialized
	// JSON in a TextContent block": then it would be there twice.
	if len(structured) > 0 && !r.hasText {
		r.parts = append(r.parts, string(structured))
	}
	return strings.Join(r.parts, "\n"), r.media
}

// withErrorPrefix marks the text of a failure, unless it begins with "error".
func withErrorPrefix(text string) string {
	if len(text) >= 5 && strings.EqualFold(text[:5], "error") {
		return text
	}
	return "Error: " + text
}

// add renders one block.
func (r *rendering) add(c mcp.Content) {
	switch c := c.(type) {
	case *mcp.TextContent:
		r.parts = append(r.parts, c.Text)
		r.hasText = r.hasText || strings.TrimSpace(c.Text) != ""
	case *mcp.ImageContent:
		r.attach("image", c.MIMEType, c.Data)
	case *mcp.AudioContent:
		r.attach("audio", c.MIMEType, c.Data)
	case *mcp.ResourceLink:
		r.parts = append(r.parts, linkText(&c.Resource))
	case *mcp.EmbeddedResource:
		r.addResource(&c.Resource)
	case *mcp.UnknownContent:
		r.addJSON(c.Type, c.Raw)
	case nil:
	default: // a block that belongs in a sampling message
		written, err := jsonrpc.Marshal(c)
		if err != nil {
			written = []byte(err.Error())
		}
		kind, _ := jsonrpc.String(jsonrpc.Lookup(written, "type"))
		r.addJSON(kind, written)
	}
}

// addJSON renders a block as its JSON.
func (r *rendering) addJSON(kind string, block []byte) {
	r.parts = append(r.parts, fmt.Sprintf("[content of type %q: %s]", excerpt.Limit(kind, 100), block))
}

// attach adds an image or audio to the media, and a note about it to the text.
func (r *rendering) attach(kind, mimeType string, data []byte) {
	if len(data) == 0 {
		r.parts = append(r.parts, fmt.Sprintf("[%s: empty]", kind))
		return
	}
	if mimeType == "" {
		mimeType = http.DetectContentType(data)
	}
	note := fmt.Sprintf("%s: %s, %s", kind, excerpt.Limit(mimeType, 100), size(int64(len(data))))
	if !r.addMedia(mimeType, data) {
		note += tooLarge
	}
	r.parts = append(r.parts, "["+note+"]")
}

// addMedia adds media. It returns false if there is no room.
func (r *rendering) addMedia(mimeType string, data []byte) bool {
	if len(data) > r.mediaLeft {
		return false
	}
	r.mediaLeft -= len(data)
	r.media = append(r.media, llms.BinaryPart(mimeType, data))
	return true
}

// addResource renders the contents of a resource.
func (r *rendering) addResource(c *mcp.ResourceContents) {
	head := "resource " + excerpt.Limit(c.URI, 1000)
	if c.MIMEType != "" {
		head += " (" + excerpt.Limit(c.MIMEType, 100) + ")"
	}
	if c.Blob == nil {
		r.parts = append(r.parts, "["+head+"]", c.Text)
		r.hasText = r.hasText || strings.TrimSpace(c.Text) != ""
		return
	}
	note := fmt.Sprintf("%s: %s of binary data", head, size(int64(len(c.Blob))))
	isMedia := strings.HasPrefix(c.MIMEType, "image/") || strings.HasPrefix(c.MIMEType, "audio/")
	if isMedia && len(c.Blob) > 0 && !r.addMedia(c.MIMEType, c.Blob) {
		note += tooLarge
	}
	r.parts = append(r.parts, "["+note+"]")
}

// linkText describes a linked resource.
func linkText(l *mcp.Resource) string {
	var b strings.Builder
	b.WriteString("[resource link: " + excerpt.Limit(l.URI, 1000))
	if name := cmp.Or(l.Title, l.Name); name != "" && name != l.URI {
		b.WriteString(", " + excerpt.Limit(name, 200))
	}
	if l.MIMEType != "" {
		b.WriteString(", " + excerpt.Limit(l.MIMEType, 100))
	}
	if l.Size != nil {
		b.WriteString(", " + size(*l.Size))
	}
	if l.Description != "" {
		b.WriteString(": " + excerpt.Limit(l.Description, 1000))
	}
	return b.String() + "]"
}

// size writes a number of bytes for a model.
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
