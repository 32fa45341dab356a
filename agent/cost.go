package agent

import (
	"fmt"
	"sync"

	"github.com/mcpchain/mcpchain/agent/internal/billing"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// checkPrices returns an error for limits of the cost that cannot be enforced, because one of the
// models that may reply has no name or no price. The error names the option to set.
func (r *recipe) checkPrices(limits map[string]int64) error {
	for _, name := range billing.Names(&r.info) {
		err := cost.Limited(r.opts.Model.Prices, name, limits)
		switch {
		case err == nil:
		case name == "" && r.opts.Model.Prices == nil:
			return fmt.Errorf("Limits.Cost: %w: it has to name itself (Info), "+
				"and needs a price in Options.Model.Prices, which is nil", err)
		case name == "":
			return fmt.Errorf("Limits.Cost: %w: it has to name itself (Info)", err)
		case r.opts.Model.Prices == nil:
			return fmt.Errorf("Limits.Cost: %w: Options.Model.Prices is nil", err)
		default:
			return fmt.Errorf("Limits.Cost: %w", err)
		}
	}
	return nil
}

// Reserve implements [cost.Account]. It refuses a completion that may take more than half of what the
// run's limits leave: the model needs the rest to answer. A reservation is durable before the model is
// asked. Without limits there is none.
func (a account) Reserve(most cost.Charge) (settle func(cost.Charge), err error) {
	if !a.engine.hasLimit(isSpendingLimited) {
		return func(took cost.Charge) { a.charge(took, nil) }, nil
	}
	amount := ledger.Amount{Tokens: most.Tokens.Input + most.Tokens.Output}
	if most.Cost.Currency != "" {
		amount.Cost = map[string]int64{most.Cost.Currency: most.Cost.Micro}
	}
	key := newKey()
	a.rec.writer.mu.Lock()
	if err = a.checkShare(amount, 2); err == nil {
		err = a.rec.recordLocked(nil, &ledger.Reserved{Key: key, Amount: amount})
	}
	a.rec.writer.mu.Unlock()
	if err == nil {
		err = a.rec.commit()
	}
	if err != nil {
		return nil, err
	}
	return func(took cost.Charge) { a.charge(took, &key) }, nil
}

// charge records the usage of a completion. settles is the key of its reservation, nil for none.
func (a account) charge(took cost.Charge, settles *string) {
	spent, asked := completionUsage(took)
	if !asked && settles == nil {
		return
	}
	// A run that has ended refuses the change: it has counted the reservation as lost.
	_ = a.rec.record(nil, &ledger.Charged{Spent: spent, Settles: settles})
}

// completionUsage returns what a completion adds to the usage of a run. asked is false for a zero
// charge: a person has to review the request before the model is asked, or refused it.
func completionUsage(took cost.Charge) (spent run.Usage, asked bool) {
	if took == (cost.Charge{Model: took.Model}) {
		return run.Usage{}, false
	}
	t := took.Tokens
	total := t.Input + t.Output
	spent = run.Usage{
		Input:      t.Input,
		Output:     t.Output,
		Total:      total,
		Cached:     t.Cached,
		CacheWrite: t.CacheWrite,
		Reasoning:  t.Reasoning,
	}
	spent.Sampling.Requests, spent.Sampling.Tokens = 1, total
	if took.Cost.Currency != "" {
		spent.Cost = map[string]int64{took.Cost.Currency: took.Cost.Micro}
	}
	return spent, true
}

// meteredAccount is an account that counts what one request of a server uses.
type meteredAccount struct {
	cost.Account

	mu    sync.Mutex
	spent run.Usage // so far
}

// Reserve implements [cost.Account].
func (m *meteredAccount) Reserve(most cost.Charge) (func(cost.Charge), error) {
	settle, err := m.Account.Reserve(most)
	if err != nil {
		return nil, err
	}
	return func(took cost.Charge) {
		settle(took)
		spent, _ := completionUsage(took)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.spent.Add(spent)
	}, nil
}
