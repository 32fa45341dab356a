package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// What a host keeps as JSON it can read again.
func TestTaskStateIsReadAgain(t *testing.T) {
	want := mcp.TaskState{ID: "t", Status: mcp.TaskWorking, TTL: new(time.Minute), PollInterval: time.Second}
	raw := check.Value(json.Marshal(want))(t)
	var got mcp.TaskState
	check.Must(t, json.Unmarshal(raw, &got))
	check.Same(t, "", got, want)
}

// TestTaskStateForever: the extension requires ttlMs, with null for a task that is kept.
func TestTaskStateForever(t *testing.T) {
	check.Contains(t, "", string(check.Value(json.Marshal(mcp.TaskState{ID: "t", Status: mcp.TaskWorking}))(t)), `"ttlMs":null`)
}

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
		check.Equal(t, name, got, test.want)
		check.Equal(t, name, ok, test.want != mcp.Change{})
	}
}
