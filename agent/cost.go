package agent

import (
	"fmt"
	"maps"
	"sync"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/price"
)

// modelName is the name by which the model's price is found before it has answered.
func (a *Agent) modelName() string {
	if m, ok := a.model.(interface{ ModelName() string }); ok && a.asked == "" {
		return m.ModelName()
	}
	return a.asked
}

// priced refuses a model whose cost is limited and cannot be told.
func (e *engine) priced() error {
	for p := e; p != nil; p = p.parent {
		limits := p.state.Limits.Cost
		if len(limits) == 0 {
			continue
		}
		if err := e.agent.opts.Prices.Limited(e.agent.modelName(), limits); err != nil {
			return fmt.Errorf("Limits.Cost: %w", err)
		}
	}
	return nil
}

// cost is what a reply took, nil if its price is unknown.
func (e *engine) cost(model string, used run.Spent) map[string]int64 {
	tokens := price.Tokens{
		Input: used.Input, Cached: used.Cached, CacheWrite: used.CacheWrite, Output: used.Output, Reasoning: used.Reasoning,
	}
	prices := e.agent.opts.Prices
	amount, ok := prices.Cost(model, tokens)
	if !ok { // providers answer with the dated name of a model
		amount, ok = prices.Cost(e.agent.modelName(), tokens)
	}
	if !ok {
		return nil
	}
	return map[string]int64{amount.Currency: amount.Micro}
}

// account charges a run for what servers sample during its calls.
type account struct {
	engine *engine

	mu       sync.Mutex // guards the fields below
	tokens   int64      // reserved
	reserved map[string]int64
}

// Reserve refuses a completion that may take more than is left of the run's limits.
func (a *account) Reserve(most price.Charge) (settle func(price.Charge), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	tokens := most.Tokens.Input + most.Tokens.Output
	for e := a.engine; e != nil && err == nil; e = e.parent {
		e.read(func(s *run.State) { err = a.room(s, tokens, most.Cost) })
	}
	if err != nil {
		return nil, err
	}
	a.add(tokens, most.Cost, 1)
	return func(took price.Charge) {
		a.mu.Lock()
		a.add(tokens, most.Cost, -1)
		a.mu.Unlock()
		a.charge(took)
	}, nil
}

// room refuses what is more than a run has left.
func (a *account) room(s *run.State, tokens int64, cost price.Money) error {
	spent := s.Spent.Since(s.Before)
	if limit := s.Limits.Tokens; limit > 0 && spent.Total+a.tokens+tokens > limit {
		return fmt.Errorf("the completion may take %d tokens, and the run has %d left (Limits.Tokens)", tokens, max(limit-spent.Total-a.tokens, 0))
	}
	limit, limited := s.Limits.Cost[cost.Currency]
	if len(s.Limits.Cost) > 0 && !limited {
		return fmt.Errorf("the cost of the completion is not known in a currency of Limits.Cost")
	}
	if left := limit - spent.Cost[cost.Currency] - a.reserved[cost.Currency]; limited && cost.Micro > left {
		return fmt.Errorf("the completion may cost %v, and the run has %v left (Limits.Cost)", cost, price.Money{Currency: cost.Currency, Micro: max(left, 0)})
	}
	return nil
}

func (a *account) add(tokens int64, cost price.Money, sign int64) {
	a.tokens += sign * tokens
	if cost.Currency != "" {
		a.reserved[cost.Currency] += sign * cost.Micro
	}
}

// charge records what a completion took.
func (a *account) charge(took price.Charge) {
	t := took.Tokens
	spent := run.Spent{
		Input: t.Input, Output: t.Output, Total: t.Input + t.Output, Cached: t.Cached, CacheWrite: t.CacheWrite, Reasoning: t.Reasoning,
		Sampling: run.Sampling{Requests: 1, Tokens: t.Input + t.Output},
	}
	if took.Cost.Currency != "" {
		spent.Cost = map[string]int64{took.Cost.Currency: took.Cost.Micro}
	}
	_ = a.engine.record(nil, &run.Charged{Spent: spent}) // a run that is over has no account
}

// overCost reports whether a run has spent what it may.
func overCost(s *run.State, spent run.Spent) bool {
	for currency := range maps.Keys(s.Limits.Cost) {
		if spent.Cost[currency] >= s.Limits.Cost[currency] {
			return true
		}
	}
	return false
}
