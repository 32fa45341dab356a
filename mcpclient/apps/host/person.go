package host

import (
	"context"
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxURL bounds a URL that a person is asked to open.
const maxURL = 8 << 10

// openLink has the host open a URL, if it is well-formed.
func (r *requests) openLink(ctx context.Context, params json.RawMessage) (any, error) {
	if r.opts.OpenLink == nil {
		return nil, notOffered("ui/open-link")
	}
	var p struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(params, &p); err != nil || len(p.URL) > maxURL || !inquiry.Visitable(p.URL) {
		return nil, errorf(mcp.CodeInvalidParams, "Invalid URL")
	}
	return struct{}{}, r.opts.OpenLink(ctx, p.URL)
}

// message passes a message of the view to the host.
func (r *requests) message(ctx context.Context, params json.RawMessage) (any, error) {
	if r.opts.Message == nil {
		return nil, notOffered("ui/message")
	}
	var p struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.Role != "user" {
		return nil, errorf(mcp.CodeInvalidParams, "Invalid message format: want the role user")
	}
	content, err := blocks(p.Content)
	if err != nil || len(content) == 0 {
		return nil, errorf(mcp.CodeInvalidParams, "Invalid message format")
	}
	return struct{}{}, r.opts.Message(ctx, content)
}

// blocks decodes content: one block, as in the specification, or a list, as the official library sends it.
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
			return nil, errorf(mcp.CodeInvalidParams, "a block of another type")
		}
	}
	return message.Content, nil
}

// updateModelContext passes the context to the host.
func (r *requests) updateModelContext(_ context.Context, params json.RawMessage) (any, error) {
	if r.opts.OnModelContext == nil {
		return nil, notOffered("ui/update-model-context")
	}
	var p struct {
		Content           json.RawMessage `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	err := json.Unmarshal(params, &p)
	var content []mcp.Content
	if err == nil && len(p.Content) > 0 && string(p.Content) != "null" {
		content, err = blocks(p.Content)
	}
	if string(p.StructuredContent) == "null" {
		p.StructuredContent = nil
	}
	if err != nil || p.StructuredContent != nil && !jsonrpc.IsObject(p.StructuredContent) {
		return nil, errorf(mcp.CodeInvalidParams, "Invalid content format")
	}
	return struct{}{}, r.opts.OnModelContext(content, p.StructuredContent)
}

// requestDisplayMode has the host change the mode, and returns the resulting one.
func (r *requests) requestDisplayMode(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		Mode string `json:"mode"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.Mode == "" {
		return nil, errorf(mcp.CodeInvalidParams, "want a mode")
	}
	if _, canChange := r.view.displayMode(p.Mode); canChange && r.opts.DisplayMode != nil {
		shown, err := r.opts.DisplayMode(ctx, p.Mode)
		if err != nil {
			r.opts.Logger.Warn("a display mode is not changed", "error", err)
		} else {
			r.view.setMode(shown)
		}
	}
	shown, _ := r.view.displayMode(p.Mode)
	return map[string]string{"mode": shown}, nil
}
