package sampling

import "github.com/mcpchain/mcpchain/internal/cost"

// bill reserves and settles the cost of a request in the account of its context. It is for one
// goroutine.
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
