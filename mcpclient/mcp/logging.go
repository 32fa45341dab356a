package mcp

import (
	"encoding/json"
	"slices"
)

// LogLevel is the severity of a server's log message, as in RFC 5424: "debug", "info", "notice",
// "warning", "error", "critical", "alert" or "emergency".
type LogLevel string

// LogMessage is what a server logs. Its content is untrusted. Revision
// 2026-07-28 deprecates logging; it works in both eras.
type LogMessage struct {
	Level  LogLevel        `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data"` // any JSON
}

// Known reports whether the protocol has the level.
func (l LogLevel) Known() bool {
	return slices.Contains([]LogLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}, l)
}
