package host

import (
	"context"
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Bounds of what a person is asked.
const (
	maxURL   = 8 << 10
	maxFiles = 16
	maxName  = 128
)

// openLink has the host open a URL.
func (s *Session) openLink(ctx context.Context, params json.RawMessage) (any, error) {
	if s.opts.OpenLink == nil {
		return nil, notOffered("ui/open-link")
	}
	var p struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(params, &p); err != nil || len(p.URL) > maxURL || !mcp.Visitable(p.URL) {
		return nil, refuse(mcp.CodeInvalidParams, "Invalid URL")
	}
	return struct{}{}, s.opts.OpenLink(ctx, p.URL)
}

// message adds a message to the conversation.
func (s *Session) message(ctx context.Context, params json.RawMessage) (any, error) {
	if s.opts.Message == nil {
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
	return struct{}{}, s.opts.Message(ctx, content)
}

// blocks reads content: one block, as the specification has it, or a list, as the official
// library sends it.
func blocks(raw json.RawMessage) ([]mcp.Content, error) {
	if jsonrpc.IsObject(raw) {
		raw = append(append(json.RawMessage{'['}, raw...), ']')
	}
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	var out []mcp.Content
	for _, one := range all {
		block, err := mcp.DecodeContent(one)
		if err != nil {
			return nil, err
		}
		switch block.(type) {
		case *mcp.TextContent, *mcp.ImageContent, *mcp.AudioContent, *mcp.ResourceLink, *mcp.EmbeddedResource:
			out = append(out, block)
		default:
			return nil, refuse(mcp.CodeInvalidParams, "a block of another type")
		}
	}
	return out, nil
}

// ModelContext is what a view wants models to know in future turns. It is the view's: tell
// the model where it comes from.
type ModelContext struct {
	Content           []mcp.Content
	StructuredContent json.RawMessage // an object, nil for none
}

// ModelContext returns the last of what the view wants models to know, nil for nothing.
func (s *Session) ModelContext() *ModelContext {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

// updateModelContext replaces what models are to know.
func (s *Session) updateModelContext(_ context.Context, params json.RawMessage) (any, error) {
	if s.opts.OnModelContext == nil {
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
	if err := s.opts.OnModelContext(now); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.model = now
	if len(now.Content) == 0 && now.StructuredContent == nil {
		s.model = nil
	}
	s.mu.Unlock()
	return struct{}{}, nil
}

// requestDisplayMode answers with the mode in which the view is shown, changed or not.
func (s *Session) requestDisplayMode(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		Mode DisplayMode `json:"mode"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.Mode == "" {
		return nil, refuse(mcp.CodeInvalidParams, "want a mode")
	}
	s.mu.Lock()
	was, offered := s.context.DisplayMode, s.offersLocked(p.Mode)
	s.mu.Unlock()
	if offered && p.Mode != was && s.opts.DisplayMode != nil {
		is, err := s.opts.DisplayMode(ctx, p.Mode)
		if err != nil {
			s.opts.Logger.Warn("a display mode is not changed", "error", err)
		} else {
			s.show(is)
		}
	}
	return map[string]DisplayMode{"mode": s.DisplayMode()}, nil
}

// show takes the mode in which the view is shown now, if host and view have it.
func (s *Session) show(mode DisplayMode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.offersLocked(mode) {
		return
	}
	c := s.context
	c.DisplayMode = mode
	if now, err := c.encode(); err == nil {
		s.changeLocked(c, now)
	}
}

// File is a file that a view offers to save: its contents, or the URI of a resource that
// has them.
type File struct {
	Name     string // without folders, never empty, nor one that a system keeps hidden or takes for a device
	MIMEType string
	Data     []byte
	URI      string // "" if there is Data
}

// download has the host save files.
func (s *Session) download(ctx context.Context, params json.RawMessage) (any, error) {
	if s.opts.Download == nil {
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
	return struct{}{}, s.opts.Download(ctx, files)
}

// device matches a name that Windows takes for a device, whatever extension follows.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)`)

// fileName makes of a URI a name that leads to no other folder.
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
	if name == "" || strings.Trim(name, "_") == "" {
		return "download"
	}
	return name
}
