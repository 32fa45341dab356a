package sampling

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/cost"
)

// account counts the charges to one budget.
type account struct {
	owner   string // owner in error texts
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

// openAccount returns the account of a key. If there is none with a charge within the window, it is the fresh one, and
// other accounts without such a charge are deleted: there are never more accounts than requests within the window.
func openAccount[K comparable](all map[K]*account, key K, now time.Time, window time.Duration, fresh *account) *account {
	if a, ok := all[key]; ok && !a.idle(now, window) {
		return a
	}
	maps.DeleteFunc(all, func(_ K, a *account) bool { return a.idle(now, window) })
	all[key] = fresh
	return fresh
}

// idle reports whether no charge counts within the window.
func (a *account) idle(now time.Time, window time.Duration) bool {
	return !slices.ContainsFunc(a.charges, func(c *charge) bool { return c.within(now, window) })
}

// within reports whether a charge counts: its request is not finished, or began less than a window ago.
func (c *charge) within(now time.Time, window time.Duration) bool {
	return c.open || now.Sub(c.at) < window
}

// check returns an error if the budget does not allow a charge, which may be in the account already. It drops the charges
// before the window.
func (a *account) check(now time.Time, next *charge) error {
	if a.window > 0 {
		a.charges = slices.DeleteFunc(a.charges, func(c *charge) bool { return !c.within(now, a.window) })
	}
	need, currency := next.reserved.tokens(), next.reserved.Cost.Currency
	requests, used := 1, next.spent.tokens()
	cost := amountIn(currency, next.reserved.Cost) + amountIn(currency, next.spent.Cost)
	for _, c := range a.charges {
		if c != next {
			requests++
			used += c.reserved.tokens() + c.spent.tokens()
			cost += amountIn(currency, c.reserved.Cost) + amountIn(currency, c.spent.Cost)
		}
	}
	b := &a.budget
	limit, limited := b.Cost[currency]
	switch {
	case b.Requests > 0 && requests > b.Requests:
		return a.usedUpError(kindBudget, fmt.Sprintf("%d requests", b.Requests))
	case b.Tokens > 0 && used+need > b.Tokens:
		return newRefusal(kindBudget, fmt.Sprintf("the request may take %d tokens, and %d of %d%s are left for %s",
			need, max(0, b.Tokens-used), b.Tokens, a.inWindow(), a.owner))
	case len(b.Cost) > 0 && !limited:
		return newRefusal(kindCost, "the cost is limited, and the model has no price in a currency of the limits")
	case limited && cost > limit:
		return a.usedUpError(kindCost, "cost")
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

// usedUpError returns the error for a limit that is used up.
func (a *account) usedUpError(kind, limit string) error {
	return newRefusal(kind, fmt.Sprintf("the limit of %s%s for %s is used up", limit, a.inWindow(), a.owner))
}

// inWindow describes the window of the account for an error text, "" if it has none.
func (a *account) inWindow() string {
	if a.window == 0 {
		return ""
	}
	return fmt.Sprintf(" in %v", a.window)
}

// bill reserves and settles the cost of a request in the account of its context. It is for one goroutine.
type bill struct {
	account           cost.Account      // nil: the context has no account
	settleReservation func(cost.Charge) // settles the reservation; nil: nothing is reserved
}

// reserve reserves an upper bound for a completion.
func (b *bill) reserve(model string, most usage) error {
	if b.account == nil {
		return nil
	}
	settle, err := b.account.Reserve(most.charge(model))
	if err != nil {
		kind := kindBudget
		if most.Cost.Micro > 0 {
			kind = kindCost // a cheaper model may do
		}
		return &refusedError{kind: kind, reason: "the limit of the host's run is used up", cause: err}
	}
	b.settleReservation = settle
	return nil
}

// settle replaces the reservation, if there is one, by the usage of a completion.
func (b *bill) settle(model string, used usage) {
	if b.settleReservation != nil {
		b.settleReservation(used.charge(model))
		b.settleReservation = nil
	}
}
