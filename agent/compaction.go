package agent

import (
	"fmt"

	"github.com/mcpchain/mcpchain/agent/compact"
)

// compact makes the history shorter if it is too long for the model. A failure leaves it
// as it is.
func (e *engine) compact() error {
	shorten := e.agent.opts.Compact
	if shorten == nil {
		return nil
	}
	var budget compact.Budget
	if e.counted > 0 && e.countedFor <= len(e.state.History) {
		budget.Tokens, budget.Messages = e.counted, e.countedFor
	}
	change, err := shorten(e.ctx, e.state.History, budget)
	switch {
	case e.ctx.Err() != nil:
		return e.ended()
	case err != nil:
		e.show(&Warning{Text: fmt.Sprintf("the history is not made shorter: %v", err)})
		return nil
	case change == nil:
		return nil
	}
	e.counted, e.countedFor = 0, 0
	return e.record([]Event{&Compacted{Replaced: change.Replaced, By: len(change.Messages)}}, change)
}
