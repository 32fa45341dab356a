package mcp

import "encoding/json"

// LogLevel is the severity of a server's log message, as in RFC 5424.
type LogLevel string

// The log levels, from the least to the most severe.
const (
	LogDebug     LogLevel = "debug"
	LogInfo      LogLevel = "info"
	LogNotice    LogLevel = "notice"
	LogWarning   LogLevel = "warning"
	LogError     LogLevel = "error"
	LogCritical  LogLevel = "critical"
	LogAlert     LogLevel = "alert"
	LogEmergency LogLevel = "emergency"
)

// LogMessage is what a server logs. Its content is untrusted. Revision
// 2026-07-28 deprecates logging; it works in both eras.
type LogMessage struct {
	Level  LogLevel        `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data"` // any JSON
}

// Known reports whether the protocol has the level.
func (l LogLevel) Known() bool {
	switch l {
	case LogDebug, LogInfo, LogNotice, LogWarning, LogError, LogCritical, LogAlert, LogEmergency:
		return true
	}
	return false
}
