package mcp_test

import (
	"encoding/json"
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
