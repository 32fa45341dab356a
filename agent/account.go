package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/price"
)

// The account of a run is its state: what was used, and what is reserved for model calls and
// completions under way, sub-agents included. Reservations are made with the writer locked.

// The bounds of a reply if tokens or costs are limited.
const (
	defaultOutput = 8192
	leastOutput   = 64  // with less no call is made
	lastAnswer    = 512 // what is kept for the last answer, beside what the call before it took
)

// ErrLimit is the error of a run that cannot pay for an answer: what Limits.Tokens or
// Limits.Cost leave is not enough for another call of the model. The text of the error has the
// limit, what was used of it, what the call takes, and the option to raise.
var ErrLimit = errors.New("the run has not enough left for an answer")

// ErrUncounted is the error of a run with Limits.Cost whose model does not report the tokens
// of its replies. A model reports them in the Usage of its reply; a scripted one by agenttest.Step.Using.
var ErrUncounted = errors.New("the model does not report the tokens of its replies, so Limits.Cost cannot hold: " +
	"have it report them in the Usage of its reply (agenttest.Step.Using for a script), or set Limits.Tokens, which an estimate holds")

// limitError is an [ErrLimit] at a limit.
type limitError struct {
	stop StopReason
	text string
}

func (e *limitError) Error() string { return fmt.Sprintf("%v: %s", ErrLimit, e.text) }
func (e *limitError) Unwrap() error { return ErrLimit }

// short is the error of a run at whose limit no call of the model fits after so much input. tight is the
// run of the limit.
func (a account) short(stop StopReason, tight *engine, input int64) error {
	taken, limits, p := tight.rec.state.Taken(), tight.rec.state.Limits, a.price()
	limit, used, kept, least := fmt.Sprint(limits.Tokens), fmt.Sprint(taken.Tokens), "", fmt.Sprint(input+leastOutput)
	if stop == StopMaxCost {
		money := func(micro int64) string { return cost.Money{Currency: p.Currency, Micro: micro}.String() }
		limit, used, least = money(limits.Cost[p.Currency]), money(taken.Cost[p.Currency]), money(cost.Most(p, input, leastOutput).Micro)
	}
	raise := "Options.Limits or WithLimits"
	if tight.parent != nil {
		raise = fmt.Sprintf("Options.Limits of the sub-agent %q", tight.agent.opts.Name)
	}
	if tight != a.engine {
		kept = ", some is kept for the answer of the agent above"
	}
	return &limitError{stop, fmt.Sprintf("%s is %s, %s is used or reserved%s, and a call with about %d tokens of input takes %s at least: raise %s in %s",
		stop.limit(), limit, used, kept, input, least, stop.limit(), raise)}
}

// account is what a run, with the runs that it works for, has left and has to pay.
type account struct {
	engine *engine
	rec    *recorder // of the engine
}

func (e *engine) account() account { return account{e, e.rec} }

// limited reports whether a limit of this run, or of one that it works for, is as want says.
func (e *engine) limited(want func(run.Limits) bool) bool {
	for ; e != nil; e = e.parent {
		if want(e.rec.state.Limits) {
			return true
		}
	}
	return false
}

func limitsCost(l run.Limits) bool     { return len(l.Cost) > 0 }
func limitsSpending(l run.Limits) bool { return l.Tokens > 0 || len(l.Cost) > 0 }

// room is how many tokens of output fit a call of the model, and the limit that makes them
// fewer than usual, with the run that has it. A call after which the run may go on leaves as much as it takes, and
// a sub-agent leaves the run that it works for what its last answer takes.
func (a account) room(input int64, final bool) (output int64, stop StopReason, tight *engine) {
	output, stop, tight = a.engine.agent.maxOutput(), StopOutput, a.engine
	keep, share := int64(lastAnswer), int64(2)
	if final {
		keep, share = 0, 1
	}
	p := a.price()
	for at := a.engine; at != nil; at = at.parent {
		taken, limits := at.rec.state.Taken(), at.rec.state.Limits
		if at != a.engine {
			keep = at.rec.state.Last.Tokens() + lastAnswer
		}
		if n := (limits.Tokens-taken.Tokens-keep)/share - input; limits.Tokens > 0 && n < output {
			output, stop, tight = n, StopMaxTokens, at
		}
		limit, ok := limits.Cost[p.Currency]
		left := limit - taken.Cost[p.Currency]
		if kept := cost.Most(at.account().price(), keep, 0); kept.Currency == p.Currency {
			left -= kept.Micro
		}
		if n := cost.Affords(p, left/share, input); ok && n < output {
			output, stop, tight = n, StopMaxCost, at
		}
	}
	return output, stop, tight
}

// roomBeside is room, after a wait for other calls of the model if they leave too little.
func (a account) roomBeside(input int64, final bool) (output int64, stop StopReason, tight *engine, err error) {
	l := a.rec.writer
	for {
		output, stop, tight = a.room(input, final)
		if stop == StopOutput || l.asking == 0 {
			return output, stop, tight, nil
		}
		settled := l.settled
		l.mu.Unlock()
		select {
		case <-settled:
		case <-a.engine.ctx.Done():
		}
		l.mu.Lock()
		if a.engine.ctx.Err() != nil {
			return 0, stop, tight, a.engine.ended()
		}
	}
}

// lacks names the limit for which a call has to be the last one, or is [StopOutput].
func (d *dialog) lacks(c *ModelCall) (StopReason, error) {
	if !d.engine.limited(limitsSpending) {
		return StopOutput, nil
	}
	input := d.inputOf(c)
	d.rec.writer.mu.Lock()
	defer d.rec.writer.mu.Unlock()
	output, stop, _, err := d.account.roomBeside(input, false)
	if output >= leastOutput {
		stop = StopOutput
	}
	return stop, err
}

// called records a call of the model, with what it may take if that is limited. It returns the
// bound of the output, 0 for none.
func (d *dialog) called(c *ModelCall, stop StopReason, start *ModelStart) (output int64, err error) {
	change := &ledger.Called{Final: finalOf(stop), Lost: d.rec.state.Model != nil && !d.here}
	if !d.engine.limited(limitsSpending) {
		return 0, d.rec.record([]Event{start}, change)
	}
	input := d.inputOf(c)
	d.rec.writer.mu.Lock()
	defer d.rec.writer.mu.Unlock()
	output, limit, tight, err := d.account.roomBeside(input, stop != StopOutput)
	if err != nil {
		return 0, err
	}
	if limit != StopOutput && output < leastOutput {
		output, limit, tight = d.account.room(input, true) // a hook has made the call longer
	}
	if limit != StopOutput && output < leastOutput {
		return 0, d.account.short(limit, tight, input)
	}
	change.Reserved = d.account.most(input, output)
	if err := d.rec.recordLocked([]Event{start}, change); err != nil {
		return 0, err
	}
	d.asking = true
	d.rec.writer.asking++
	return output, nil
}

// again records that a call of the model is made again whose end is unknown: it may be paid
// for twice.
func (d *dialog) again() error {
	if !d.engine.limited(limitsSpending) {
		return nil
	}
	d.rec.writer.mu.Lock()
	defer d.rec.writer.mu.Unlock()
	reserved := d.rec.state.Model.Reserved
	if err := d.account.refuses(reserved, 1); err != nil {
		return err
	}
	return d.rec.recordLocked(nil, &ledger.Called{Reserved: reserved, Final: d.rec.state.Final, Lost: true})
}

// settle tells the calls that wait for room that this one is over.
func (d *dialog) settle() {
	if !d.asking {
		return
	}
	d.asking = false
	d.rec.writer.mu.Lock()
	defer d.rec.writer.mu.Unlock()
	d.rec.writer.asking--
	close(d.rec.writer.settled)
	d.rec.writer.settled = make(chan struct{})
}

// most is what a call of the model may take.
func (a account) most(input, output int64) ledger.Amount {
	amount := ledger.Amount{Tokens: input + output}
	if p := a.price(); p.Currency != "" {
		amount.Cost = map[string]int64{p.Currency: cost.Most(p, input, output).Micro}
	}
	return amount
}

// refuses returns why an amount is more than the run may still take: a share of what is
// left.
func (a account) refuses(amount ledger.Amount, share int64) error {
	for at := a.engine; at != nil; at = at.parent {
		taken, limits := at.rec.state.Taken(), at.rec.state.Limits
		if left := max(limits.Tokens-taken.Tokens, 0) / share; limits.Tokens > 0 && amount.Tokens > left {
			return fmt.Errorf("a call of the model may take %d tokens, and the run has %d left for it (Limits.Tokens)", amount.Tokens, left)
		}
		known := false
		for currency, micro := range amount.Cost {
			limit, ok := limits.Cost[currency]
			known = known || ok
			if left := max(limit-taken.Cost[currency], 0) / share; ok && micro > left {
				return fmt.Errorf("a call of the model may cost %v, and the run has %v left for it (Limits.Cost)", cost.Money{Currency: currency, Micro: micro}, cost.Money{Currency: currency, Micro: left})
			}
		}
		if len(limits.Cost) > 0 && !known {
			return errors.New("the cost of a call of the model is not known in a currency of Limits.Cost")
		}
	}
	return nil
}

// meter counts a reply whose model does not: an estimate keeps Limits.Tokens, and nothing
// keeps Limits.Cost.
func (d *dialog) meter(r *reply, c *ModelCall, output int64) error {
	if r.usage.Total > 0 || !d.engine.limited(limitsSpending) {
		return nil
	}
	if d.engine.limited(limitsCost) && cost.Most(d.account.price(), 1, 1).Micro > 0 {
		return ErrUncounted
	}
	r.estimated = true
	r.usage.Input, r.usage.Output = d.inputOf(c), min(int64(r.size())/tokenBytes+1, output)
	r.usage.Total = r.usage.Input + r.usage.Output
	if !d.warned {
		d.warned = true
		d.rec.show(&Warning{Text: "the model does not report the tokens of its replies: an estimate counts for Limits.Tokens"})
	}
	return nil
}

// price is what the model costs, zero if that is unknown; of several models, what the dearest one costs.
func (a account) price() (dearest price.Price) {
	for _, name := range a.engine.agent.names {
		if p, _ := cost.PriceOf(a.engine.agent.opts.Model.Prices, name); dearest.Currency == "" || cost.Most(p, 1000, 1000).Micro > cost.Most(dearest, 1000, 1000).Micro {
			dearest = p
		}
	}
	return dearest
}

// The size of what a model reads since its host has counted last, for a bound of its tokens: texts have three or
// four bytes for a token, digits and dense scripts two.
const (
	tokenBytes   = 2
	messageBytes = 16
	imageBytes   = 2000 * tokenBytes
)

// inputOf bounds the tokens of a call: by what the provider has counted in the last one, and
// what was added since. Before it has counted, an estimate with its error counts.
func (d *dialog) inputOf(c *ModelCall) int64 {
	size := d.sizeOf(c)
	if last := d.rec.state.Last; last.Input > 0 && last.Size > 0 && size >= last.Size {
		return last.Input + (size-last.Size)/tokenBytes
	}
	estimate := model.Tokens(c.Request, &d.engine.agent.info)
	return estimate + estimate*15/100
}

// sizeOf is the size of a call in bytes of text, with what goes back to the host of the model.
func (d *dialog) sizeOf(c *ModelCall) int64 {
	q := c.Request
	size := int64(len(q.System))
	for i := range q.Messages {
		m := &q.Messages[i]
		size += messageBytes + int64(m.ReturnedSize())
		for j := range m.Parts {
			size += d.sizeOfPart(&m.Parts[j])
		}
	}
	for i := range q.Tools {
		t := &q.Tools[i]
		size += messageBytes + int64(len(t.Name)+len(t.Description)+len(t.Schema))
	}
	return size
}

// sizeOfPart is the size of a part without what only its provider gets.
func (d *dialog) sizeOfPart(p *run.Part) (size int64) {
	switch p.Type {
	case run.PartReasoning:
	case run.PartImage, run.PartAudio, run.PartFile:
		size = max(imageBytes, int64(len(p.Data))/128)
	default:
		size = int64(len(p.ID) + len(p.Name) + len(p.Text) + len(p.Arguments))
	}
	for i := range p.Media {
		if d.engine.agent.info.Takes(p.Media[i].MIMEType) {
			size += d.sizeOfPart(&p.Media[i])
		}
	}
	return size
}

// forget counts what completions have reserved whose process has ended: they may have used
// all of it.
func (a account) forget() error {
	var changes []ledger.Change
	for _, key := range slices.Sorted(maps.Keys(a.rec.state.Sampling)) {
		reserved := a.rec.state.Sampling[key]
		changes = append(changes, &ledger.Charged{Spent: run.Spent{Lost: 1, LostTokens: reserved.Tokens, LostCost: reserved.Cost}, Settles: &key})
	}
	return a.rec.record(nil, changes...)
}
