package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/agent/internal/billing"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/price"
)

// errUncounted is the error of a run with Limits.Cost whose model does not report its usage
// (model.Response.Usage). Limits.Tokens needs no report: an estimate counts.
var errUncounted = errors.New("model reports no token usage, so Limits.Cost cannot be enforced; set Limits.Tokens instead")

// account computes what a run may still use, by its limits and by those of each run above it. Their
// states have what was used, and what is reserved for model calls and completions in progress,
// sub-agents included. The writer is locked while a reservation is made.
type account struct {
	engine *engine
	rec    *recorder // the engine's
}

func (e *engine) account() account { return account{e, e.rec} }

// hasLimit reports whether isLimit is true for the limits of this run, or of one that it works for.
func (e *engine) hasLimit(isLimit func(run.Limits) bool) bool {
	for ; e != nil; e = e.parent {
		if isLimit(e.rec.state.Limits) {
			return true
		}
	}
	return false
}

func isCostLimited(l run.Limits) bool     { return len(l.Cost) > 0 }
func isSpendingLimited(l run.Limits) bool { return l.Tokens > 0 || len(l.Cost) > 0 }

// Bounds if tokens or costs are limited.
const (
	defaultOutput = 8192
	leastOutput   = 64  // with less, no call is made
	lastAnswer    = 512 // reserved for the last answer, beyond what the call before it used
	estimateError = 15  // percent that an estimate of [model.Tokens] may be too low
)

// allowance is what the limits leave for the output of a model call.
type allowance struct {
	output   int64
	stop     StopReason // the limit that makes output less than the model may write, or StopOutput
	limiting *engine    // the run with that limit
}

// isTooShort reports whether a limit leaves too little for a call.
func (l allowance) isTooShort() bool { return l.stop != StopOutput && l.output < leastOutput }

// allowance returns what the limits leave for a call with that many input tokens. A call that is not
// final gets at most half of what is left, so that another can follow; a sub-agent leaves each run above
// it enough for a last answer. The output may be negative.
func (a account) allowance(input int64, final bool) allowance {
	r := a.engine.agent
	most := cmp.Or(r.opts.Model.MaxTokens, max(r.info.MaxTokens, 0), defaultOutput)
	allowed := allowance{output: int64(most), stop: StopOutput, limiting: a.engine}
	keep, share := int64(lastAnswer), int64(2) // the call gets 1/share of what is left beyond keep
	if final {
		keep, share = 0, 1
	}
	p := a.price()
	for at := a.engine; at != nil; at = at.parent {
		taken, limits := at.rec.state.Taken(), at.rec.state.Limits
		if at != a.engine {
			keep = at.rec.state.Last.Tokens() + lastAnswer
		}
		if n := (limits.Tokens-taken.Tokens-keep)/share - input; limits.Tokens > 0 && n < allowed.output {
			allowed = allowance{n, StopMaxTokens, at}
		}
		limit, ok := limits.Cost[p.Currency]
		remaining := limit - taken.Cost[p.Currency]
		if kept := cost.Most(at.account().price(), keep, 0); kept.Currency == p.Currency {
			remaining -= kept.Micro
		}
		if n := cost.Affords(p, remaining/share, input); ok && n < allowed.output {
			allowed = allowance{n, StopMaxCost, at}
		}
	}
	return allowed
}

// awaitAllowanceLocked returns the allowance of a call. While a limit reduces it, it waits, without
// the lock, for other model calls to end. The error says that the run ends in this process.
func (a account) awaitAllowanceLocked(input int64, final bool) (allowance, error) {
	w := a.rec.writer
	for {
		allowed := a.allowance(input, final)
		if allowed.stop == StopOutput || w.reservedCalls == 0 {
			return allowed, nil
		}
		callEnded := w.callEnded
		w.mu.Unlock()
		select {
		case <-callEnded:
		case <-a.engine.ctx.Done():
		}
		w.mu.Lock()
		if a.engine.ctx.Err() != nil {
			return allowed, a.engine.endError()
		}
	}
}

// inputTokens returns a cautious estimate of the input tokens of a call: the count or estimate for the
// last call plus what was added since. Before the first call, and if the call has become shorter, it
// is an estimate with its error added.
func (d *dialog) inputTokens(q *model.Request) int64 {
	size := callSize(q, &d.agent.info)
	if last := d.rec.state.Last; last.Input > 0 && last.Size > 0 && size >= last.Size {
		return last.Input + (size-last.Size+minTokenBytes-1)/minTokenBytes
	}
	estimate := model.Tokens(q, &d.agent.info)
	return estimate + estimate*estimateError/100
}

// spendingLimit returns the limit that makes this call the last one, or [StopOutput].
func (d *dialog) spendingLimit(q *model.Request) (StopReason, error) {
	if !d.engine.hasLimit(isSpendingLimited) {
		return StopOutput, nil
	}
	input := d.inputTokens(q)
	d.rec.writer.mu.Lock()
	defer d.rec.writer.mu.Unlock()
	allowed, err := d.account.awaitAllowanceLocked(input, false)
	if err != nil || allowed.isTooShort() {
		return allowed.stop, err
	}
	return StopOutput, nil
}

// recordModelCall records a model call and its reservation. It returns the bound of the output, 0 for
// none. A call that was not meant to be the last, and that a hook has made too long for that, is made
// with all that the limits leave; the error is a limitError if that is too little as well.
func (d *dialog) recordModelCall(q *model.Request, stop StopReason) (output int64, err error) {
	events := []Event{&ModelStart{Turn: d.rec.state.Turn}}
	change := &ledger.Called{Final: finalReason(stop), Lost: d.rec.state.Model != nil && !d.ownCall}
	if !d.engine.hasLimit(isSpendingLimited) {
		return 0, d.rec.record(events, change)
	}
	input := d.inputTokens(q)
	d.rec.writer.mu.Lock()
	defer d.rec.writer.mu.Unlock()
	allowed, err := d.account.awaitAllowanceLocked(input, stop != StopOutput)
	if err != nil {
		return 0, err
	}
	if allowed.isTooShort() {
		allowed = d.account.allowance(input, true)
	}
	if allowed.isTooShort() {
		return 0, d.account.newLimitError(allowed, input)
	}
	change.Reserved.Tokens = input + allowed.output
	if p := d.account.price(); p.Currency != "" {
		change.Reserved.Cost = map[string]int64{p.Currency: cost.Most(p, input, allowed.output).Micro}
	}
	if err := d.rec.recordLocked(events, change); err != nil {
		return 0, err
	}
	d.hasReservation = true
	d.rec.writer.reservedCalls++
	return allowed.output, nil
}

// recordRepeat records that a model call with an unknown outcome is repeated. It may be paid for twice.
func (d *dialog) recordRepeat() error {
	if !d.engine.hasLimit(isSpendingLimited) {
		return nil
	}
	d.rec.writer.mu.Lock()
	defer d.rec.writer.mu.Unlock()
	reserved := d.rec.state.Model.Reserved
	if err := d.account.checkShare(reserved, 1); err != nil {
		return err
	}
	return d.rec.recordLocked(nil, &ledger.Called{Reserved: reserved, Final: d.rec.state.Final, Lost: true, Again: true})
}

// endModelCall wakes the model calls that wait for this one to end, if it has a reservation.
func (d *dialog) endModelCall() {
	if !d.hasReservation {
		return
	}
	d.hasReservation = false
	d.rec.writer.mu.Lock()
	defer d.rec.writer.mu.Unlock()
	d.rec.writer.reservedCalls--
	close(d.rec.writer.callEnded)
	d.rec.writer.callEnded = make(chan struct{})
}

// checkShare returns an error if an amount exceeds a fraction, 1/share, of what the run may still use.
func (a account) checkShare(amount ledger.Amount, share int64) error {
	for at := a.engine; at != nil; at = at.parent {
		taken, limits := at.rec.state.Taken(), at.rec.state.Limits
		remaining := max(limits.Tokens-taken.Tokens, 0) / share
		if limits.Tokens > 0 && amount.Tokens > remaining {
			return fmt.Errorf("model call may take %d tokens, and the run has %d left for it (Limits.Tokens)",
				amount.Tokens, remaining)
		}
		if err := checkCostShare(amount.Cost, taken.Cost, limits.Cost, share); err != nil {
			return err
		}
	}
	return nil
}

// checkCostShare returns an error if costs exceed a fraction of what limits leave, or are in none of
// their currencies.
func checkCostShare(costs, taken, limits map[string]int64, share int64) error {
	known := len(limits) == 0
	for currency, micro := range costs {
		limit, ok := limits[currency]
		if !ok {
			continue
		}
		known = true
		if remaining := max(limit-taken[currency], 0) / share; micro > remaining {
			return fmt.Errorf("model call may cost %v, and the run has %v left for it (Limits.Cost)",
				cost.Money{Currency: currency, Micro: micro}, cost.Money{Currency: currency, Micro: remaining})
		}
	}
	if !known {
		return errors.New("cost of a model call is not known in a currency of Limits.Cost")
	}
	return nil
}

// chargeLost charges the reservations of completions whose process died: they may have used all that
// was reserved.
func (a account) chargeLost() error {
	var changes []ledger.Change
	for _, key := range slices.Sorted(maps.Keys(a.rec.state.Sampling)) {
		reserved := a.rec.state.Sampling[key]
		lost := run.Usage{Lost: 1, LostTokens: reserved.Tokens, LostCost: reserved.Cost}
		changes = append(changes, &ledger.Charged{Spent: lost, Settles: &key})
	}
	return a.rec.record(nil, changes...)
}

// limitError is the error of a run that cannot afford an answer: Limits.Tokens or Limits.Cost leave too
// little for another model call. The text says how much of the limit is used, and what the call needs. It
// may be shown to people who cannot change the options of a program.
type limitError struct {
	stop StopReason // the limit that was reached
	text string
}

func (e *limitError) Error() string { return "too little of a limit is left for an answer: " + e.text }

// newLimitError returns the error of a run whose limits leave too little for a model call with that
// many input tokens.
func (a account) newLimitError(allowed allowance, input int64) error {
	limiting := allowed.limiting
	taken, limits := limiting.rec.state.Taken(), limiting.rec.state.Limits
	limit, used, least := fmt.Sprint(limits.Tokens, " tokens"), fmt.Sprint(taken.Tokens), fmt.Sprint(input+leastOutput)
	if allowed.stop == StopMaxCost {
		p := a.price()
		money := func(micro int64) string { return cost.Money{Currency: p.Currency, Micro: micro}.String() }
		limit, used = money(limits.Cost[p.Currency]), money(taken.Cost[p.Currency])
		least = money(cost.Most(p, input, leastOutput).Micro)
	}
	name, kept := limitNames[allowed.stop], ""
	if limiting.parent != nil {
		name += fmt.Sprintf(" of the sub-agent %q", limiting.agent.opts.Name)
	}
	if limiting != a.engine {
		kept = ", some are kept for the answer of the agent above"
	}
	return &limitError{allowed.stop, fmt.Sprintf("of %s (%s) %s are used or reserved%s, "+
		"and a call with about %d tokens of input takes at least %s", limit, name, used, kept, input, least)}
}

// estimateUsage estimates the tokens of a reply if the model did not report them. Limits.Tokens
// accepts an estimate; Limits.Cost does not.
func (d *dialog) estimateUsage(r *reply, q *model.Request, output int64) error {
	if r.usage.Total > 0 || !d.engine.hasLimit(isSpendingLimited) {
		return nil
	}
	if d.engine.hasLimit(isCostLimited) && cost.Most(d.account.price(), 1, 1).Micro > 0 {
		return errUncounted
	}
	r.estimated = true
	r.usage.Input, r.usage.Output = d.inputTokens(q), min(int64(r.size())/minTokenBytes+1, output)
	r.usage.Total = r.usage.Input + r.usage.Output
	d.warnOnce("the model does not report the tokens of its replies: an estimate counts for Limits.Tokens")
	return nil
}

// price returns the price of the model, zero if unknown. Of several models it is the highest, for as many
// tokens of output as of input.
func (a account) price() (dearest price.Price) {
	for _, name := range billing.Names(&a.engine.agent.info) {
		p, _ := cost.PriceOf(a.engine.agent.opts.Model.Prices, name)
		if dearest.Currency == "" || cost.Most(p, 1000, 1000).Micro > cost.Most(dearest, 1000, 1000).Micro {
			dearest = p
		}
	}
	return dearest
}
