package mcpclient

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A filter selects its kinds of changes, and a server announces the declared ones.
func TestSubscriptionFilter(t *testing.T) {
	all := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, Resources: []string{"b", "a", "b"}, Tasks: []string{"t", "t"}}
	kinds := []mcp.ChangeKind{mcp.ToolsChanged, mcp.PromptsChanged, mcp.ResourcesChanged, mcp.ResourceUpdated, mcp.TaskUpdated}
	list := &mcp.ListCapability{ListChanged: true}
	for name, test := range map[string]struct {
		declared mcp.ServerCapabilities
		want     mcp.SubscriptionFilter
		takes    []mcp.ChangeKind
	}{
		"nothing":         {},
		"no changes":      {declared: mcp.ServerCapabilities{Tools: new(mcp.ListCapability), Prompts: new(mcp.ListCapability), Resources: new(mcp.ListCapability)}},
		"tools":           {mcp.ServerCapabilities{Tools: list}, mcp.SubscriptionFilter{ToolsListChanged: true}, kinds[:1]},
		"prompts":         {mcp.ServerCapabilities{Prompts: list}, mcp.SubscriptionFilter{PromptsListChanged: true}, kinds[1:2]},
		"resources":       {mcp.ServerCapabilities{Resources: &mcp.ListCapability{ListChanged: true}}, mcp.SubscriptionFilter{ResourcesListChanged: true}, kinds[2:3]},
		"each resource":   {mcp.ServerCapabilities{Resources: &mcp.ListCapability{Subscribe: true}}, mcp.SubscriptionFilter{Resources: []string{"a", "b"}}, kinds[3:4]},
		"tasks":           {mcp.ServerCapabilities{Tasks: new(mcp.TaskCapability)}, mcp.SubscriptionFilter{Tasks: []string{"t"}}, kinds[4:]},
		"extension tasks": {mcp.ServerCapabilities{Extensions: map[string]json.RawMessage{metakey.Tasks: nil}}, mcp.SubscriptionFilter{Tasks: []string{"t"}}, kinds[4:]},
	} {
		got := announced(&test.declared, all)
		var takes []mcp.ChangeKind
		for _, kind := range kinds {
			if asksFor(&got, kind) {
				takes = append(takes, kind)
			}
		}
		if diff := cmp.Diff(test.want, got) + cmp.Diff(test.takes, takes); diff != "" || asksNothing(&got) != (takes == nil) {
			t.Errorf("%s: got empty %t and +, want -:\n%s", name, asksNothing(&got), diff)
		}
	}
	if got := distinct(all); len(got.Resources) != 2 || !names(&got, mcp.Change{Kind: mcp.ResourceUpdated, URI: "a"}) || names(&got, mcp.Change{Kind: mcp.TaskUpdated, Task: "a"}) {
		t.Errorf("got %+v, want each resource once", got)
	}
}
