package mcp

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// SubscriptionFilter specifies what a mcpclient.Subscription is about.
type SubscriptionFilter struct {
	ToolsListChanged     bool     `json:"toolsListChanged,omitempty"`
	PromptsListChanged   bool     `json:"promptsListChanged,omitempty"`
	ResourcesListChanged bool     `json:"resourcesListChanged,omitempty"` // the lists of resources and templates
	Resources            []string `json:"resourceSubscriptions,omitempty"`
	Tasks                []string `json:"taskIds,omitempty"` // only for servers with tasks, of revision 2025-11-25 or of the extension
}

// ChangeKind is what a [Change] is about.
type ChangeKind string

// The kinds of changes.
const (
	ToolsChanged     ChangeKind = "tools"     // the list of tools
	PromptsChanged   ChangeKind = "prompts"   // the list of prompts
	ResourcesChanged ChangeKind = "resources" // the lists of resources and of templates
	ResourceUpdated  ChangeKind = "resource"  // the resource at URI
	TaskUpdated      ChangeKind = "task"      // the task with the id Task: see mcpclient.Task.Poll

	// Stale says that anything subscribed to may have changed: the server could
	// not be heard for a while, or more changed than is kept for a slow reader.
	Stale ChangeKind = "stale"
)

// Change reports that something has changed.
type Change struct {
	Kind ChangeKind
	URI  string // ResourceUpdated: the resource subscribed to, or one that is part of it
	Task string // TaskUpdated: the task's id
}

// maxChangeURI bounds the URI that a change keeps, and the id of a task, in bytes.
const maxChangeURI = 8 << 10

// Notification is a message of the server that awaits no answer. Params of notifications/message are a [LogMessage], of
// notifications/progress a [Progress]; [Notification.Change] reads what is about a change.
type Notification struct {
	Method string
	Params json.RawMessage // nil when absent
}

// Change reads a notification that is about a change. ok is false for other notifications, and if
// the URI or the id is missing. A URI or an id of more than 8 KiB makes it [Stale].
func (n *Notification) Change() (change Change, ok bool) {
	switch n.Method {
	case "notifications/tools/list_changed":
		return Change{Kind: ToolsChanged}, true
	case "notifications/prompts/list_changed":
		return Change{Kind: PromptsChanged}, true
	case "notifications/resources/list_changed":
		return Change{Kind: ResourcesChanged}, true
	case "notifications/resources/updated":
		change.Kind = ResourceUpdated
		change.URI, _ = jsonrpc.String(jsonrpc.Lookup(n.Params, "uri"))
	case "notifications/tasks", "notifications/tasks/status":
		change.Kind = TaskUpdated
		change.Task, _ = jsonrpc.String(jsonrpc.Lookup(n.Params, "taskId"))
	}
	switch size := len(change.URI) + len(change.Task); {
	case size == 0:
		return Change{}, false
	case size > maxChangeURI:
		return Change{Kind: Stale}, true
	}
	return change, true
}

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

// Progress is a progress notification of a call.
type Progress struct {
	Progress float64  `json:"progress"`
	Total    *float64 `json:"total,omitempty"` // nil when unknown
	Message  string   `json:"message,omitempty"`
}
