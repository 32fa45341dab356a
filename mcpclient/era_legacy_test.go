package mcpclient

import (
	"encoding/json"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestRelatedTaskOnce names the task in an answer once, also if the host's answer names one.
func TestRelatedTaskOnce(t *testing.T) {
	question := json.RawMessage(`{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"k1"}}}`)
	answer := json.RawMessage(`{"action":"decline","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"other"}}}`)
	want := `{"action":"decline","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"k1"}}}`
	check.Equal(t, "answer", string(withRelatedTask(answer, question)), want)
}
