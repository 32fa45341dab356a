package results

import (
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// OnlyModern reports whether only servers of the modern era answer with the code of an error.
func OnlyModern(e *mcp.RPCError) bool {
	return e.Code == mcp.CodeHeaderMismatch || e.Code == mcp.CodeMissingCapability || e.Code == mcp.CodeUnsupportedRevision
}
