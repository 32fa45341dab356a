package host

import (
	"context"
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Bounds of what a person is asked.
const (
	maxURL   = 8 << 10
	maxFiles = 16
	maxName  = 128
)

func (h *handlers) openLink(ctx context.Context, params json.RawMessage) (any, error) {
	if h.opts.OpenLink == nil {
		return nil, notOffered("ui/open-link")
	}
	var p struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(params, &p); err != nil || len(p.URL) > maxURL || !inquiry.Visitable(p.URL) {
		return nil, refuse(mcp.CodeInvalidParams, "Invalid URL")
	}
	return struct{}{}, h.opts.OpenLink(ctx, p.URL)
}

func (h *handlers) message(ctx context.Context, params json.RawMessage) (any, error) {
	if h.opts.Message == nil {
		return nil, notOffered("ui/message")
	}
	var p struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.Role != "user" {
		return nil, refuse(mcp.CodeInvalidParams, "Invalid message format: want the role user")
	}
	content, err := blocks(p.Content)
	if err != nil || len(content) == 0 {
		return nil, refuse(mcp.CodeInvalidParams, "Invalid message format")
	}
	return struct{}{}, h.opts.Message(ctx, content)
}

// blocks decodes content: one block, as in the specification, or a list, as the official
// library sends it.
func blocks(raw json.RawMessage) ([]mcp.Content, error) {
	content, err := jsonrpc.Marshal(map[string]json.RawMessage{"content": raw})
	if err != nil {
		return nil, err
	}
	var message mcp.SamplingMessage // its content has the same two forms
	if err := json.Unmarshal(content, &message); err != nil {
		return nil, err
	}
	for _, block := range message.Content {
		switch block.(type) {
		case *mcp.TextContent, *mcp.ImageContent, *mcp.AudioContent, *mcp.ResourceLink, *mcp.EmbeddedResource:
		default:
			return nil, refuse(mcp.CodeInvalidParams, "a block of another type")
		}
	}
	return message.Content, nil
}

// ModelContext is what a view wants models to know in future turns. Tell the model that it
// comes from the view.
type ModelContext struct {
	Content           []mcp.Content
	StructuredContent json.RawMessage // an object, or nil
}

func (h *handlers) updateModelContext(_ context.Context, params json.RawMessage) (any, error) {
	if h.opts.OnModelContext == nil {
		return nil, notOffered("ui/update-model-context")
	}
	var p struct {
		Content           json.RawMessage `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	err := json.Unmarshal(params, &p)
	now := &ModelContext{}
	if err == nil && len(p.Content) > 0 && string(p.Content) != "null" {
		now.Content, err = blocks(p.Content)
	}
	if len(p.StructuredContent) > 0 && string(p.StructuredContent) != "null" {
		now.StructuredContent = p.StructuredContent
	}
	if err != nil || now.StructuredContent != nil && !jsonrpc.IsObject(now.StructuredContent) {
		return nil, refuse(mcp.CodeInvalidParams, "Invalid content format")
	}
	if err := h.opts.OnModelContext(now); err != nil {
		return nil, err
	}
	if len(now.Content) == 0 && now.StructuredContent == nil {
		now = nil
	}
	h.view.mu.Lock()
	h.view.model = now
	h.view.mu.Unlock()
	return struct{}{}, nil
}

func (h *handlers) requestDisplayMode(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		Mode DisplayMode `json:"mode"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.Mode == "" {
		return nil, refuse(mcp.CodeInvalidParams, "want a mode")
	}
	h.view.mu.Lock()
	was, offered := h.view.context.DisplayMode, h.view.offersLocked(p.Mode)
	h.view.mu.Unlock()
	if offered && p.Mode != was && h.opts.DisplayMode != nil {
		is, err := h.opts.DisplayMode(ctx, p.Mode)
		if err != nil {
			h.opts.Logger.Warn("a display mode is not changed", "error", err)
		} else {
			h.view.show(is)
		}
	}
	return map[string]DisplayMode{"mode": h.view.mode()}, nil
}

// File is a file that a view offers: its contents, or the URI of a resource with the contents.
type File struct {
	Name     string // without folders; never empty, hidden, or a device name
	MIMEType string
	Data     []byte
	URI      string // "" if there is Data
}

func (h *handlers) download(ctx context.Context, params json.RawMessage) (any, error) {
	if h.opts.Download == nil {
		return nil, notOffered("ui/download-file")
	}
	content, err := blocks(jsonrpc.Lookup(params, "contents"))
	if err != nil || len(content) == 0 || len(content) > maxFiles {
		return nil, refuse(mcp.CodeInvalidParams, "Invalid content: want 1 to %d resources", maxFiles)
	}
	var files []File
	for _, block := range content {
		switch c := block.(type) {
		case *mcp.EmbeddedResource:
			data := c.Resource.Blob
			if data == nil {
				data = []byte(c.Resource.Text)
			}
			files = append(files, File{Name: fileName(c.Resource.URI), MIMEType: c.Resource.MIMEType, Data: data})
		case *mcp.ResourceLink:
			files = append(files, File{Name: fileName(c.URI), MIMEType: c.MIMEType, URI: c.URI})
		default:
			return nil, refuse(mcp.CodeInvalidParams, "Invalid content: want resources")
		}
	}
	return struct{}{}, h.opts.Download(ctx, files)
}

// device matches the names of devices on Windows, with any extension.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)`)

// fileName returns the last part of a URI's path as a name for a file: in no other folder, not
// hidden, no device, and at most maxName bytes. It is "download" if nothing else is left.
func fileName(uri string) string {
	uri, _, _ = strings.Cut(uri, "?")
	uri, _, _ = strings.Cut(uri, "#")
	name := path.Base(strings.ReplaceAll(uri, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`/\:*?"<>|%`, r) {
			return '_'
		}
		return r
	}, name)
	name = strings.Trim(name, " .")
	if device.MatchString(name) {
		name = "_" + name
	}
	for len(name) > maxName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if strings.Trim(name, "_") == "" {
		return "download"
	}
	return name
}
