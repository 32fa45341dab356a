package mcp

import "encoding/json"

// Notification is a message of the server that awaits no answer. Params of
// notifications/message are a [LogMessage], of notifications/progress a [Progress];
// [Notification.Change] reads what is about a change.
type Notification struct {
	Method string
	Params json.RawMessage // nil when absent
}
