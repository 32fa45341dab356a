package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
)

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

func (l LogLevel) known() bool {
	switch l {
	case LogDebug, LogInfo, LogNotice, LogWarning, LogError, LogCritical, LogAlert, LogEmergency:
		return true
	}
	return false
}

// LogMessage reads a notifications/message; ok is false for other notifications.
func (n *Notification) LogMessage() (m LogMessage, ok bool) {
	if n.Method != "notifications/message" || json.Unmarshal(n.Params, &m) != nil {
		return LogMessage{}, false
	}
	return m, true
}

// SetLogLevel asks a legacy server for log messages at level and above, for the
// rest of the session. A modern server is asked on each call instead (see
// [Options.LogLevel] and [WithLogLevel]); there the error is a [*CapabilityError].
func (c *Client) SetLogLevel(ctx context.Context, level LogLevel) error {
	if !level.known() {
		return fmt.Errorf("set log level %q: not a level of the protocol", level)
	}
	if !c.current().has(sessionLevel) {
		return fmt.Errorf("set log level %q: %w", level, &CapabilityError{Method: "logging/setLevel", Capability: "a log level for the session, but one for each call: see WithLogLevel"})
	}
	params := []byte(`{"level":"` + string(level) + `"}`)
	if err := c.call(ctx, &request{method: "logging/setLevel", params: params}, nil, nil); err != nil {
		return fmt.Errorf("set log level %q: %w", level, err)
	}
	c.session.tell(level)
	return nil
}
