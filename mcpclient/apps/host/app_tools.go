package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// errNoTools says that a view has no tools.
var errNoTools = errors.New("the view has no tools")

// Tools lists the tools that the view itself offers, while it lasts. Names and
// descriptions are the view's: mark them as its own before a model sees them, and have
// calls approved. A view without tools ([App].HasTools) is an error, and so is one with more than
// Limits.Tools, or that does not list them within Limits.ToolCall.
func (s *Session) Tools(ctx context.Context) ([]*mcp.Tool, error) {
	if !s.App().HasTools {
		return nil, fmt.Errorf("list tools of the view: %w", errNoTools)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Limits.ToolCall)
	defer cancel()
	var all []*mcp.Tool
	params := map[string]string{}
	for {
		page, err := s.toolPage(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("list tools of the view: %w", err)
		}
		all = append(all, page.Tools...)
		if len(all) > s.opts.Limits.Tools || page.NextCursor != "" && len(page.Tools) == 0 {
			return nil, fmt.Errorf("list tools of the view: more than %d tools (Limits.Tools), or pages without any", s.opts.Limits.Tools)
		}
		if page.NextCursor == "" {
			return all, nil
		}
		params["cursor"] = page.NextCursor
	}
}

type toolPage struct {
	Tools      []*mcp.Tool `json:"tools"`
	NextCursor string      `json:"nextCursor"`
}

func (s *Session) toolPage(ctx context.Context, params map[string]string) (*toolPage, error) {
	raw, err := s.ask(ctx, "tools/list", params)
	if err != nil {
		return nil, err
	}
	page := &toolPage{}
	if err := jsonrpc.LimitArrays(raw, jsonrpc.MaxElements); err != nil {
		return nil, fmt.Errorf("%w: %v", mcp.ErrInvalidResult, err)
	}
	if err := json.Unmarshal(raw, page); err != nil {
		return nil, fmt.Errorf("%w: %v", mcp.ErrInvalidResult, err)
	}
	for _, tool := range page.Tools {
		if tool == nil || tool.Name == "" || !jsonrpc.IsObject(tool.InputSchema) {
			return nil, fmt.Errorf("%w: a tool without a name or an input schema", mcp.ErrInvalidResult)
		}
	}
	return page, nil
}

// CallTool calls a tool of the view. arguments are a JSON object. The result is the view's:
// like that of a server's tool it may say that the tool failed. The error is for a view without tools, for one
// that does not answer within Limits.ToolCall, and an [*mcp.RPCError] if it answers with one.
func (s *Session) CallTool(ctx context.Context, name string, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	if !s.App().HasTools {
		return nil, fmt.Errorf("call tool %q of the view: %w", excerpt.Cut(name), errNoTools)
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Limits.ToolCall)
	defer cancel()
	raw, err := s.ask(ctx, "tools/call", struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}{name, arguments})
	result := &mcp.CallToolResult{Tool: name}
	if err == nil {
		if err = result.UnmarshalJSON(raw); err != nil {
			err = fmt.Errorf("%w: %v", mcp.ErrInvalidResult, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("call tool %q of the view: %w", excerpt.Cut(name), err)
	}
	return result, nil
}
