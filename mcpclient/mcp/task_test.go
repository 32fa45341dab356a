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
	ttl := time.Minute
	want := mcp.TaskState{ID: "t", Status: mcp.TaskWorking, TTL: &ttl, PollInterval: time.Second}
	raw, err := json.Marshal(want)
	check.Must(t, err)
	var got mcp.TaskState
	if err := json.Unmarshal(raw, &got); err != nil || got.ID != "t" || got.TTL == nil || *got.TTL != ttl {
		t.Errorf("%s: got %v, %v", raw, got, err)
	}
}

// TestTaskStateForever: the extension requires ttlMs, with null for a task that is kept.
func TestTaskStateForever(t *testing.T) {
	raw, err := json.Marshal(mcp.TaskState{ID: "t", Status: mcp.TaskWorking})
	check.Must(t, err)
	check.Contains(t, "", string(raw), `"ttlMs":null`)
}
