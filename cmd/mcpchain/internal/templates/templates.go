// Package templates lists the resource templates of servers. Many servers with
// resources lack the method.
package templates

import (
	"context"
	"errors"
	"iter"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// List is [mcpclient.Client.ResourceTemplates], and empty if the server lacks
// the method.
func List(ctx context.Context, c *mcpclient.Client) iter.Seq2[*mcp.ResourceTemplate, error] {
	return known(c.ResourceTemplates(ctx))
}

func known(all iter.Seq2[*mcp.ResourceTemplate, error]) iter.Seq2[*mcp.ResourceTemplate, error] {
	return func(yield func(*mcp.ResourceTemplate, error) bool) {
		for t, err := range all {
			if rpc, ok := errors.AsType[*mcp.RPCError](err); ok && rpc.Code == mcp.CodeMethodNotFound {
				return
			}
			if !yield(t, err) {
				return
			}
		}
	}
}
