package agent

import (
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/run"
)

// backBytes are the bytes of a token of what goes back to the host of the model, as an estimate.
const backBytes = 4

// estimate is how long a history is that only grows.
type estimate struct {
	tokens   int64
	messages int
}

// of returns the tokens of the history. It reads the messages that have come since.
func (e *estimate) of(history []run.Message) int64 {
	e.tokens += compact.Estimate(history[e.messages:])
	e.messages = len(history)
	return e.tokens
}
