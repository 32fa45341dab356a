package offering

import (
	"context"
	"errors"
	"iter"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Templates is like [mcpclient.Client.ResourceTemplates], but empty if the server does not have the
// method, as many servers with resources.
func Templates(ctx context.Context, c *mcpclient.Client) iter.Seq2[*mcp.ResourceTemplate, error] {
	return ignoreUnknownMethod(c.ResourceTemplates(ctx))
}

// ignoreUnknownMethod ends a list without an error if the server does not have the method.
func ignoreUnknownMethod(all iter.Seq2[*mcp.ResourceTemplate, error]) iter.Seq2[*mcp.ResourceTemplate, error] {
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
