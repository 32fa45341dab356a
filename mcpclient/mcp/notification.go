package mcp

import (
	"encoding/json"
)

// LogMessage reads a notifications/message; ok is false for other notifications.
func (n *Notification) LogMessage() (m LogMessage, ok bool) {
	if n.Method != "notifications/message" || json.Unmarshal(n.Params, &m) != nil {
		return LogMessage{}, false
	}
	return m, true
}

// Notification is a message of the server that awaits no answer.
type Notification struct {
	Method string
	Params json.RawMessage // nil when absent
}

// Progress reads a notifications/progress, of whichever call; ok is false for other
// notifications. mcpclient.WithProgress hears the notices of one call.
func (n *Notification) Progress() (p Progress, ok bool) {
	if n.Method != "notifications/progress" || json.Unmarshal(n.Params, &p) != nil {
		return Progress{}, false
	}
	return p, true
}
