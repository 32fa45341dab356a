package inquiry

import (
	"slices"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// IsLevel reports whether the protocol has the level of a log message.
func IsLevel(l mcp.LogLevel) bool {
	return slices.Contains([]mcp.LogLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}, l)
}
