package mcpclient

import (
	"context"
	"fmt"
	"iter"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Resources iterates over all pages of the server's resources. Each range asks the server
// again, except for cached pages (see [Limits.Cache]); an error is the last pair.
func (c *Client) Resources(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Resource, error] {
	return list[mcp.Resource](ctx, c.lists, "resources/list", "resources", opts)
}

// ResourceTemplates iterates over all pages of the server's resource templates, as
// [Client.Resources] does.
func (c *Client) ResourceTemplates(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.ResourceTemplate, error] {
	return list[mcp.ResourceTemplate](ctx, c.lists, "resources/templates/list", "resourceTemplates", opts)
}

// ReadResource reads the resource at uri, which need not be listed.
func (c *Client) ReadResource(ctx context.Context, uri string, opts ...CallOption) (*mcp.ReadResourceResult, error) {
	params, err := jsonrpc.EncodeParams(struct {
		URI string `json:"uri"`
	}{uri})
	if err != nil {
		return nil, fmt.Errorf("read resource %q: %w", uri, err)
	}
	result := new(mcp.ReadResourceResult)
	err = c.caller.reads.do(ctx, &request{method: "resources/read", target: uri, params: params}, result, opts)
	if err != nil {
		return nil, fmt.Errorf("read resource %q: %w", uri, err)
	}
	return result, nil
}
