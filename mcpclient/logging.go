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

// Known reports whether the protocol has the level.
func (l LogLevel) Known() bool {
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

// SetLogLevel asks for log messages at level and above from here on, in the place of
// [Options.LogLevel]; "" asks for none. A modern server is asked on every later
// request, and nothing is sent for that alone. A legacy one is told at once, and in
// every later session; it cannot be asked to be silent, so that "" asks it for
// [LogEmergency] only, if it was told another level. The error is a
// [*CapabilityError] where the server does not log.
func (c *Client) SetLogLevel(ctx context.Context, level LogLevel) error {
	if level != "" && !level.Known() {
		return fmt.Errorf("set log level %q: not a level of the protocol", level)
	}
	if err := c.setLogLevel(ctx, level); err != nil {
		return fmt.Errorf("set log level %q: %w", level, err)
	}
	return nil
}

func (c *Client) setLogLevel(ctx context.Context, level LogLevel) error {
	const method = "logging/setLevel"
	if !c.current().has(sessionLevel) {
		if level != "" && !c.offered(requirement(method)) {
			return &CapabilityError{Method: method, Capability: requirement(method)}
		}
		c.level.Store(&level)
		return nil
	}
	told := level
	if told == "" {
		told = LogEmergency
	}
	if level != "" || c.session.toldLevel() != "" {
		params := []byte(`{"level":"` + string(told) + `"}`)
		if err := c.call(ctx, &request{method: method, params: params}, nil, nil); err != nil {
			return err
		}
		c.session.tell(told)
	}
	c.level.Store(&level)
	return nil
}

// logLevel is what the server is asked for, "" for nothing.
func (c *Client) logLevel() LogLevel {
	if level := c.level.Load(); level != nil {
		return *level
	}
	return c.opts.LogLevel
}
