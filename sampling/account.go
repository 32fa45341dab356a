package sampling

import (
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/cost"
)

// account counts the charges to one budget.
type account struct {
	owner   string // for error texts
	budget  Budget
	window  time.Duration // 0: charges count for the life of the account
	slots   chan struct{} // one element for each running request; nil: no limit
	charges []*charge     // oldest first
}

// charge is one request in the accounts.
type charge struct {
	at       time.Time
	open     bool // the request is not finished
	reserved usage
	spent    usage
}

func newAccount(owner string, b Budget, window time.Duration) *account {
	a := &account{owner: owner, budget: b, window: window}
	if b.Concurrent > 0 {
		a.slots = make(chan struct{}, b.Concurrent)
	}
	return a
}

// openAccount returns the account of a key, and makes it if it does not exist. It deletes
// accounts without a charge within the window, so there are never more accounts than
// requests within the window.
func openAccount[K comparable](all map[K]*account, key K, now time.Time, fresh func() *account, window time.Duration) *account {
	if a, ok := all[key]; ok && !a.idle(now, window) {
		return a
	}
	for k, a := range all {
		if a.idle(now, window) {
			delete(all, k)
		}
	}
	a := fresh()
	all[key] = a
	return a
}

func (a *account) idle(now time.Time, window time.Duration) bool {
	for _, c := range a.charges {
		if c.within(now, window) {
			return false
		}
	}
	return true
}

// within reports whether a charge counts: its request is not finished, or began less than
// a window ago.
func (c *charge) within(now time.Time, window time.Duration) bool {
	return c.open || now.Sub(c.at) < window
}

// admits returns an error if the budget does not allow next: with requests 1, as a further
// request that is not in the account yet; with 0, as a changed charge of the account. It also
// drops the charges before the window.
func (a *account) admits(now time.Time, next *charge, requests int) error {
	currency := next.reserved.Cost.Currency
	cost, tokens := int64(0), int64(0)
	if requests > 0 {
		cost, tokens = next.reserved.Cost.Micro, next.reserved.tokens()
	}
	need, kept := tokens, a.charges[:0]
	for _, c := range a.charges {
		if a.window > 0 && !c.within(now, a.window) {
			continue
		}
		kept = append(kept, c)
		requests++
		tokens += c.reserved.tokens() + c.spent.tokens()
		cost += amountIn(currency, c.reserved.Cost) + amountIn(currency, c.spent.Cost)
	}
	clear(a.charges[len(kept):])
	a.charges = kept
	b := &a.budget
	limit, limited := b.Cost[currency]
	switch {
	case b.Requests > 0 && requests > b.Requests:
		return a.over(kindBudget, fmt.Sprintf("%d requests", b.Requests))
	case b.Tokens > 0 && tokens > b.Tokens && need > 0:
		return refused(kindBudget, fmt.Sprintf("the request may take %d tokens, and %d of %d%s are left for %s", need, max(0, b.Tokens-(tokens-need)), b.Tokens, a.inWindow(), a.owner))
	case b.Tokens > 0 && tokens > b.Tokens:
		return a.over(kindBudget, fmt.Sprintf("%d tokens", b.Tokens))
	case len(b.Cost) > 0 && !limited:
		return refused(kindCost, "the cost is limited, and the model has no price in a currency of the limits")
	case limited && cost > limit:
		return a.over(kindCost, "cost")
	}
	return nil
}

// amountIn returns the amount if it is in the currency, else 0.
func amountIn(currency string, m cost.Money) int64 {
	if m.Currency != currency {
		return 0
	}
	return m.Micro
}

func (a *account) over(kind string, of string) error {
	return refused(kind, fmt.Sprintf("the limit of %s%s for %s is used up", of, a.inWindow(), a.owner))
}

// inWindow describes the window of the account for an error text, "" if it has none.
func (a *account) inWindow() string {
	if a.window == 0 {
		return ""
	}
	return fmt.Sprintf(" in %v", a.window)
}
