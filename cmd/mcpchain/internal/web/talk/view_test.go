package talk

import (
	"testing"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

// The page says that an answer is cut off.
func TestCutAnswer(t *testing.T) {
	end := &agent.Output{Text: "half", StopReason: agent.StopOutput, FinishReason: model.FinishLength}
	check.Equal(t, "", new(Service).entryOf(run.Key{}, end).view.(ended).Stop, "length")
}
