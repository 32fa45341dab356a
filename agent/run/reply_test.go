package run_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A text of HTML is kept as the person wrote it, and is no longer than that.
func TestAcceptKeepsText(t *testing.T) {
	q := &run.Question{ID: "1", Kind: run.QuestionForm, Elicit: &mcp.ElicitParams{
		Mode: mcp.ElicitForm, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"page":{"type":"string"}}}`),
	}}
	page := "<b>" + strings.Repeat("&", 1<<19)
	reply, err := q.Accept(map[string]any{"page": page})
	if want := `{"page":"` + page + `"}`; err != nil || string(reply.Content) != want {
		t.Errorf("got %.20s with %d bytes, %v, want %.20s with %d", reply.Content, len(reply.Content), err, want, len(want))
	}
}
