package mcp

import (
	"encoding/json"
	"slices"
)

// SubscriptionFilter says what a mcpclient.Subscription is about.
type SubscriptionFilter struct {
	ToolsListChanged     bool     `json:"toolsListChanged,omitempty"`
	PromptsListChanged   bool     `json:"promptsListChanged,omitempty"`
	ResourcesListChanged bool     `json:"resourcesListChanged,omitempty"` // of resources and templates
	Resources            []string `json:"resourceSubscriptions,omitempty"`
	Tasks                []string `json:"taskIds,omitempty"` // of servers with tasks, in either design
}

// Empty reports whether f asks for nothing.
func (f *SubscriptionFilter) Empty() bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged && len(f.Resources) == 0 && len(f.Tasks) == 0
}

// Takes reports whether f asks for changes of this kind.
func (f *SubscriptionFilter) Takes(kind ChangeKind) bool {
	switch kind {
	case ToolsChanged:
		return f.ToolsListChanged
	case PromptsChanged:
		return f.PromptsListChanged
	case ResourcesChanged:
		return f.ResourcesListChanged
	case TaskUpdated:
		return len(f.Tasks) > 0
	}
	return len(f.Resources) > 0
}

// Names reports whether f names the resource or task of a change.
func (f *SubscriptionFilter) Names(change Change) bool {
	if change.Kind == TaskUpdated {
		return slices.Contains(f.Tasks, change.Task)
	}
	return slices.Contains(f.Resources, change.URI)
}

// Distinct returns f with each resource and each task once, sorted.
func (f SubscriptionFilter) Distinct() SubscriptionFilter {
	f.Resources, f.Tasks = distinct(f.Resources), distinct(f.Tasks)
	return f
}

func distinct(all []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// Announced returns the part of f that the server declares to announce, in the form of
// [SubscriptionFilter.Distinct].
func (s *ServerCapabilities) Announced(f SubscriptionFilter) SubscriptionFilter {
	out := SubscriptionFilter{
		ToolsListChanged:   f.ToolsListChanged && s.Tools != nil && s.Tools.ListChanged,
		PromptsListChanged: f.PromptsListChanged && s.Prompts != nil && s.Prompts.ListChanged,
	}
	if s.Resources != nil {
		out.ResourcesListChanged = f.ResourcesListChanged && s.Resources.ListChanged
		if s.Resources.Subscribe {
			out.Resources = distinct(f.Resources)
		}
	}
	if _, ok := s.Extensions[TasksExtension]; ok || s.Tasks != nil {
		out.Tasks = distinct(f.Tasks)
	}
	return out
}

// ChangeKind says what a [Change] is about.
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

// Change says that something has changed.
type Change struct {
	Kind ChangeKind
	URI  string // of ResourceUpdated: the resource subscribed to, or one that is part of it
	Task string // of TaskUpdated
}

// maxChangeURI bounds the URI that a change keeps, and the id of a task.
const maxChangeURI = 8 << 10

// Change reads a notification that is about a change; ok is false for other
// notifications. A URI or an id of more than 8 KiB makes it [Stale].
func (n *Notification) Change() (change Change, ok bool) {
	switch n.Method {
	case "notifications/tools/list_changed":
		return Change{Kind: ToolsChanged}, true
	case "notifications/prompts/list_changed":
		return Change{Kind: PromptsChanged}, true
	case "notifications/resources/list_changed":
		return Change{Kind: ResourcesChanged}, true
	case "notifications/resources/updated":
		var p struct {
			URI string `json:"uri"`
		}
		if json.Unmarshal(n.Params, &p) != nil || p.URI == "" {
			return Change{}, false
		}
		if len(p.URI) > maxChangeURI {
			return Change{Kind: Stale}, true
		}
		return Change{Kind: ResourceUpdated, URI: p.URI}, true
	case "notifications/tasks", "notifications/tasks/status":
		var p struct {
			ID string `json:"taskId"`
		}
		if json.Unmarshal(n.Params, &p) != nil || p.ID == "" {
			return Change{}, false
		}
		if len(p.ID) > maxChangeURI {
			return Change{Kind: Stale}, true
		}
		return Change{Kind: TaskUpdated, Task: p.ID}, true
	}
	return Change{}, false
}
