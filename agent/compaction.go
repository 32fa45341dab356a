package agent

import (
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/run"
)

// backBytes is the estimated bytes per token of data that goes back to the model's host.
const backBytes = 4

// estimate is the size of a history that only grows.
type estimate struct {
	tokens   int64
	messages int
}

// of returns the tokens of the history. It reads only the messages that were added since.
func (e *estimate) of(history []run.Message) int64 {
	e.tokens += compact.Estimate(history[e.messages:])
	e.messages = len(history)
	return e.tokens
}
