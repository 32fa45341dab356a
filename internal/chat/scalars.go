package chat

import (
	"strconv"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// decodeScalar returns the string or the text of the number in raw, "" for another value.
func decodeScalar(raw []byte) string {
	if text, ok := jsonrpc.String(raw); ok {
		return text
	}
	if len(raw) > 0 && (raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9') {
		return string(raw)
	}
	return ""
}

// decodeCount returns a count, 0 for a negative or absurd one.
func decodeCount(data []byte) int64 {
	if len(data) > 32 {
		return 0
	}
	f, err := strconv.ParseFloat(string(data), 64)
	if err != nil || !(f >= 0 && f < 1<<40) {
		return 0
	}
	return int64(f)
}
