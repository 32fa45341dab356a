package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestChange(t *testing.T) {
	long := strings.Repeat("a", 8<<10)
	for name, test := range map[string]struct {
		method, params string
		want           mcp.Change // zero: none
	}{
		"tools":         {"tools/list_changed", ``, mcp.Change{Kind: mcp.ToolsChanged}},
		"prompts":       {"prompts/list_changed", `{}`, mcp.Change{Kind: mcp.PromptsChanged}},
		"resources":     {"resources/list_changed", ``, mcp.Change{Kind: mcp.ResourcesChanged}},
		"resource":      {"resources/updated", `{"uri":"file:///a"}`, mcp.Change{Kind: mcp.ResourceUpdated, URI: "file:///a"}},
		"no URI":        {"resources/updated", `{}`, mcp.Change{}},
		"bad URI":       {"resources/updated", `{"uri":7}`, mcp.Change{}},
		"longest URI":   {"resources/updated", `{"uri":"` + long + `"}`, mcp.Change{Kind: mcp.ResourceUpdated, URI: long}},
		"too long URI":  {"resources/updated", `{"uri":"` + long + `b"}`, mcp.Change{Kind: mcp.Stale}},
		"task":          {"tasks", `{"taskId":"a"}`, mcp.Change{Kind: mcp.TaskUpdated, Task: "a"}},
		"legacy task":   {"tasks/status", `{"taskId":"a"}`, mcp.Change{Kind: mcp.TaskUpdated, Task: "a"}},
		"no id":         {"tasks", `{}`, mcp.Change{}},
		"too long id":   {"tasks", `{"taskId":"` + long + `b"}`, mcp.Change{Kind: mcp.Stale}},
		"another thing": {"message", `{}`, mcp.Change{}},
	} {
		n := &mcp.Notification{Method: "notifications/" + test.method, Params: []byte(test.params)}
		got, ok := n.Change()
		if diff := cmp.Diff(test.want, got); diff != "" || ok != (test.want != mcp.Change{}) {
			t.Errorf("%s: got ok %t and +, want -:\n%s", name, ok, diff)
		}
	}
}

// A filter takes the kinds that it asks for, and a server announces what it declares.
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
		"no changes":      {declared: mcp.ServerCapabilities{Tools: new(mcp.ListCapability), Prompts: new(mcp.ListCapability), Resources: new(mcp.ResourceCapability)}},
		"tools":           {mcp.ServerCapabilities{Tools: list}, mcp.SubscriptionFilter{ToolsListChanged: true}, kinds[:1]},
		"prompts":         {mcp.ServerCapabilities{Prompts: list}, mcp.SubscriptionFilter{PromptsListChanged: true}, kinds[1:2]},
		"resources":       {mcp.ServerCapabilities{Resources: &mcp.ResourceCapability{ListChanged: true}}, mcp.SubscriptionFilter{ResourcesListChanged: true}, kinds[2:3]},
		"each resource":   {mcp.ServerCapabilities{Resources: &mcp.ResourceCapability{Subscribe: true}}, mcp.SubscriptionFilter{Resources: []string{"a", "b"}}, kinds[3:4]},
		"tasks":           {mcp.ServerCapabilities{Tasks: new(mcp.TaskCapability)}, mcp.SubscriptionFilter{Tasks: []string{"t"}}, kinds[4:]},
		"extension tasks": {mcp.ServerCapabilities{Extensions: map[string]json.RawMessage{mcp.TasksExtension: nil}}, mcp.SubscriptionFilter{Tasks: []string{"t"}}, kinds[4:]},
	} {
		got := test.declared.Announced(all)
		var takes []mcp.ChangeKind
		for _, kind := range kinds {
			if got.Takes(kind) {
				takes = append(takes, kind)
			}
		}
		if diff := cmp.Diff(test.want, got) + cmp.Diff(test.takes, takes); diff != "" || got.Empty() != (takes == nil) {
			t.Errorf("%s: got empty %t and +, want -:\n%s", name, got.Empty(), diff)
		}
	}
	if got := all.Distinct(); len(got.Resources) != 2 || !got.Names(mcp.Change{Kind: mcp.ResourceUpdated, URI: "a"}) || got.Names(mcp.Change{Kind: mcp.TaskUpdated, Task: "a"}) {
		t.Errorf("got %+v, want each resource once", got)
	}
}
