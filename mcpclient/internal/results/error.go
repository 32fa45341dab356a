package results

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Error decodes the error of a message and removes secrets with scrub. URLs for a person to
// visit stay unchanged, because some contain the session.
func Error(raw json.RawMessage, scrub func(string) string) (*mcp.RPCError, error) {
	e := new(mcp.RPCError)
	if err := jsonrpc.Unmarshal(raw, e); err != nil {
		return nil, err
	}
	e.Message = scrub(e.Message)
	if e.Code != mcp.CodeURLElicitationNeeded {
		e.Data = jsonrpc.MapTexts(e.Data, scrub)
	}
	return e, nil
}

// OnlyModern reports whether only servers of the modern era answer with the code of an error.
func OnlyModern(e *mcp.RPCError) bool {
	return e.Code == mcp.CodeHeaderMismatch || e.Code == mcp.CodeMissingCapability || e.Code == mcp.CodeUnsupportedRevision
}
