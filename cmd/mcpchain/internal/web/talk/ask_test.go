package talk

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

// The page can say how often and when a call was sent that may have run.
func TestDoubtSaysWhenTheCallWasSent(t *testing.T) {
	sent := time.Date(2026, 11, 22, 14, 3, 0, 0, time.UTC)
	data, err := json.Marshal(askOf(&run.Question{ID: "ask_1", Kind: run.QuestionDoubt, Tool: "pay", Tries: 2, Sent: sent}))
	check.Must(t, err)
	check.Contains(t, "", string(data), `"tries":2,"sent":"2026-11-22T14:03:00Z"`)
}
