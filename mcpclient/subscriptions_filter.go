package mcpclient

import (
	"slices"

	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// asksNothing reports whether a filter asks for no change.
func asksNothing(f *mcp.SubscriptionFilter) bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged && len(f.Resources) == 0 && len(f.Tasks) == 0
}

// asksFor reports whether a filter asks for changes of this kind.
func asksFor(f *mcp.SubscriptionFilter, kind mcp.ChangeKind) bool {
	switch kind {
	case mcp.ToolsChanged:
		return f.ToolsListChanged
	case mcp.PromptsChanged:
		return f.PromptsListChanged
	case mcp.ResourcesChanged:
		return f.ResourcesListChanged
	case mcp.TaskUpdated:
		return len(f.Tasks) > 0
	}
	return len(f.Resources) > 0
}

// names reports whether a filter names the resource or task of a change.
func names(f *mcp.SubscriptionFilter, change mcp.Change) bool {
	if change.Kind == mcp.TaskUpdated {
		return slices.Contains(f.Tasks, change.Task)
	}
	return slices.Contains(f.Resources, change.URI)
}

// distinct returns a filter with sorted and distinct resources and tasks.
func distinct(f mcp.SubscriptionFilter) mcp.SubscriptionFilter {
	f.Resources = slices.Compact(slices.Sorted(slices.Values(f.Resources)))
	f.Tasks = slices.Compact(slices.Sorted(slices.Values(f.Tasks)))
	return f
}

// announced returns the part of a filter that a server declares to announce, with distinct
// resources and tasks.
func announced(s *mcp.ServerCapabilities, f mcp.SubscriptionFilter) mcp.SubscriptionFilter {
	f = distinct(f)
	out := mcp.SubscriptionFilter{
		ToolsListChanged:   f.ToolsListChanged && s.Tools != nil && s.Tools.ListChanged,
		PromptsListChanged: f.PromptsListChanged && s.Prompts != nil && s.Prompts.ListChanged,
	}
	if s.Resources != nil {
		out.ResourcesListChanged = f.ResourcesListChanged && s.Resources.ListChanged
		if s.Resources.Subscribe {
			out.Resources = f.Resources
		}
	}
	if _, ok := s.Extensions[metakey.Tasks]; ok || s.Tasks != nil {
		out.Tasks = f.Tasks
	}
	return out
}
