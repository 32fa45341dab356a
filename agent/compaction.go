package agent

import (
	"fmt"

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

// compact makes the history shorter if it is too long for the model. A failure leaves it
// as it is, and what it has used counts.
func (d *dialog) compact() error {
	budget := compact.Budget{Window: d.agent.window.Load()}
	if last := d.rec.state.Last; !last.Estimated && 0 < last.Messages && last.Messages <= len(d.rec.state.History) {
		back := int64(d.rec.state.History[last.Messages-1].ReturnedSize()) / backBytes
		budget.Tokens, budget.Messages = last.Tokens()-max(last.Reasoning-back, 0), last.Messages
	} else {
		budget.Estimate = d.estimate.of(d.rec.state.History)
	}
	_, err := d.shorten(d.agent.opts.Compact, budget)
	return err
}

// shorten asks a compactor, and records what it changes; nil is nothing.
func (d *dialog) shorten(by compact.Compactor, budget compact.Budget) (*run.Compacted, error) {
	change, err := by(d.ctx, d.rec.state.History, budget)
	if err != nil && change != nil {
		if err := d.rec.record(nil, &run.Charged{Spent: change.Usage}); err != nil {
			return nil, err
		}
	}
	switch {
	case d.ctx.Err() != nil:
		return nil, d.ended()
	case err != nil:
		d.rec.show(&Warning{Text: fmt.Sprintf("the history is not made shorter: %v", err)})
		return nil, nil
	case change == nil:
		return nil, nil
	}
	d.nameKept(change)
	d.estimate, d.ids, d.truncation = estimate{}, callIDs{}, truncation{told: d.truncation.told}
	d.window.messages, d.window.history, d.window.results = 0, 0, 0
	return change, d.rec.record([]Event{&Compacted{Replaced: change.Replaced, By: len(change.Messages)}}, change)
}
