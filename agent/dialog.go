package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/internal/billing"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// dialog is the conversation of a run with its model.
type dialog struct {
	engine  *engine
	rec     *recorder // the engine's
	agent   *recipe   // the engine's
	account account

	scratch        any  // see model.Request.Scratch
	ownCall        bool // the current model call was made by this process
	hasReservation bool // a model call with a reservation is in progress

	truncation truncation
	warned     map[string]bool // texts of warnings that were shown, see warnOnce

	// What earlier calls have computed:
	tally         tally
	tools         toolCache
	key           string           // the result of cacheKey
	prompt        string           // the system prompt, with the instructions of servers
	promptCatalog *adapter.Catalog // the catalog for which prompt was made
	discoveredFor *adapter.Catalog // the catalog from which the tools that need no search were added
}

// tally holds the counts of a history that only grows.
type tally struct {
	window window
	ids    callIDs
}

// turn calls the model and records its reply: calls, with which the run continues, a text that the
// model has to correct, or the end of the run. An error means that the run has failed, or ends in this
// process.
func (d *dialog) turn() error {
	defer d.endModelCall()
	if h := d.rec.writer.hold; h != nil && len(h.unsavedReplies()) > 0 { // a hook or the model may take long
		if err := d.rec.commit(); err != nil {
			return err
		}
	}
	if err := d.compact(); err != nil {
		return d.engine.fail(err)
	}
	reply, stop, err := d.askFitting()
	if answer := hookAnswer(err); answer != nil {
		return d.engine.finishFor(*answer, StopHook)
	}
	if err != nil {
		return d.engine.failAt(stop, err)
	}
	if reply.stop != nil {
		stop = StopHook
	}
	isMissing := d.agent.output != nil && reply.output == nil
	isRefusal := isMissing && reply.finish == model.FinishRefusal
	switch {
	case len(reply.calls) > 0 || reply.repair:
		return nil // the run continues with the calls, or asks again
	case reply.stop == nil && (strings.TrimSpace(reply.text) == "" || isRefusal):
		return d.engine.failAt(stop, fmt.Errorf("turn %d: %w", d.rec.state.Turn, reply.noAnswerError(stop)))
	case isMissing:
		return d.engine.failAt(stop, d.engine.noOutputError(reply.text))
	}
	turnEnd := &TurnEnd{Messages: d.rec.state.History[len(d.rec.state.History)-1:]}
	return d.engine.finish(reply.text, reply.output, stop, turnEnd)
}

// askFitting calls ask at the limit that the run has reached, if any. A call that is too long for the
// model's window is made once more, with a shorter history.
func (d *dialog) askFitting() (*reply, StopReason, error) {
	r, stop, err := d.ask(d.account.limit())
	long, ok := errors.AsType[*overflowError](err)
	if !ok {
		return r, stop, err
	}
	if err := d.refit(long); err != nil {
		return nil, stop, err
	}
	r, stop, err = d.ask(d.account.limit())
	if long, ok := errors.AsType[*overflowError](err); ok {
		err = long.finalError()
	}
	return r, stop, err
}

// ask calls the model once, and records the call and its reply. At a limit, or if the limits
// leave no room for another call, the call is the last one, and stop is the limit. Otherwise stop is
// [StopOutput].
func (d *dialog) ask(limit StopReason) (r *reply, stop StopReason, err error) {
	q, stop, err := d.prepare(limit)
	if err != nil {
		return nil, stop, err
	}
	final := stop != StopOutput
	maxOutput, err := d.recordModelCall(q, stop)
	if err != nil {
		return nil, stop, err
	}
	if err := d.rec.commit(); err != nil {
		return nil, stop, err
	}
	d.ownCall = true
	if maxOutput > 0 && (q.MaxTokens <= 0 || maxOutput < int64(q.MaxTokens)) {
		q.MaxTokens = int(maxOutput)
	}
	use := d.windowUse(q)
	stream := &streamedReply{engine: d.engine}
	r, err = d.engine.infer(q, stream, func(ctx context.Context) (*reply, error) {
		return d.generateReply(ctx, q, stream, maxOutput)
	})
	if err != nil {
		return nil, stop, d.failCall(q, r, stream, err)
	}
	if final {
		r.keepCalls(d.engine.outputTool()) // the model may call no other tool
	}
	use.scale(&r.usage, r.estimated)
	d.engine.window = use
	end := r.event(stream.hasAll(r.text))
	end.Window = use
	if d.rec.writer.out != nil {
		end.ToolCalls = slices.Clone(end.ToolCalls) // the history shares them
	}
	return r, stop, d.recordReply(q, r, end, final)
}

// failCall returns the error of a model call that failed, an [overflowError] if it was too long and nothing was shown. It
// keeps what is known of its reply: the text that was shown, unless hooks had to see it first or it has no end, and the
// usage of a reply that a check or a hook has refused. With a limit of tokens or cost, its reservation counts instead.
func (d *dialog) failCall(q *model.Request, r *reply, stream *streamedReply, err error) error {
	if d.engine.parent == nil && !hooks(d.agent.opts.Hooks).at(hasAfterModel) && !errors.Is(err, errLongReply) {
		d.engine.unfinished = strings.ToValidUTF8(stream.text.String(), "\ufffd")
	}
	if r != nil && !d.engine.hasLimit(isSpendingLimited) {
		if failure := d.rec.record(nil, &ledger.Charged{Spent: r.usage}); failure != nil {
			return failure
		}
	}
	if failed, ok := errors.AsType[*model.Error](err); ok && failed.Kind == model.ErrorTooLong && !stream.isShown() {
		return &overflowError{err, callSize(q, &d.agent.info)}
	}
	return err
}

// generateReply returns the reply to a model call, counted and changed by the hooks. With an error it
// returns the reply, too, if there is one: it has to be paid for.
func (d *dialog) generateReply(ctx context.Context, q *model.Request, stream *streamedReply, maxOutput int64) (*reply, error) {
	began := time.Now()
	response, err := d.generate(ctx, q, stream)
	if err != nil {
		return nil, err
	}
	calls := len(callParts(response.Message.Parts))
	if calls > maxReplyCalls {
		paid := *response
		paid.Message.Parts = nil
		response = &paid
	}
	r := d.newReply(response)
	if d.rec.state.Limits.Active > 0 {
		r.usage.Active = time.Since(began)
	}
	switch {
	case calls > maxReplyCalls:
		return r, fmt.Errorf("reply of the model has %d calls, and may have %d", calls, maxReplyCalls)
	case r.size() > maxReply:
		return r, errLongReply
	}
	d.warnOfTruncation(q, r.usage)
	d.warnOnce(response.Warning)
	if first := d.rec.state.Endpoint; first != "" && r.endpoint != "" && r.endpoint != first {
		d.warnOnce(fmt.Sprintf("the run began at the API %q of its model's host, and continues at %q: "+
			"what the model thought before stays behind", first, r.endpoint))
	}
	if err := d.estimateUsage(r, q, maxOutput); err != nil {
		return r, err
	}
	err = hooks(d.agent.opts.Hooks).afterModel(d.engine.ctx, d.rec.state, r)
	if answer := hookAnswer(err); answer != nil {
		r.setStop(*answer)
		return r, nil
	}
	return r, err
}

// newReply converts a model's response. If it names no model, the requested one counts.
func (d *dialog) newReply(got *model.Response) *reply {
	m := got.Message
	m.Role = run.RoleAssistant
	m.Model = excerpt.CutAt(cmp.Or(m.Model, d.agent.info.Name), maxWord)
	m.At = time.Now().UTC().Truncate(time.Millisecond)
	m.Parts = d.tally.ids.assign(m.Parts, d.rec.state.History, d.rec.state.Spent.Calls)
	r := &reply{
		message:  m,
		id:       excerpt.CutAt(got.ID, maxWord),
		text:     m.Text(),
		calls:    callParts(m.Parts),
		finish:   excerpt.CutAt(got.Finish, maxWord),
		warning:  got.Warning,
		usage:    clampUsage(got.Usage),
		endpoint: excerpt.CutAt(cmp.Or(got.Endpoint, d.agent.info.Endpoint), maxWord),
	}
	r.usage.Turns = 1
	r.usage.Cost = billing.Cost(d.agent.opts.Model.Prices, d.agent.model, d.scratch, m.Model, r.usage)
	return r
}

// recordReply records a reply, with its structured output and whether the model has to correct it, and
// releases what was reserved for it. The last call of a run, which is final, is not repeated.
func (d *dialog) recordReply(q *model.Request, r *reply, end *ModelEnd, final bool) error {
	defer d.endModelCall()
	isOutput := d.agent.outputFormat != nil && len(r.calls) == 0
	mayBeOutput := d.agent.output != nil && r.stop != nil // the answer of a hook
	if isOutput || mayBeOutput {
		r.output, _ = d.engine.parseOutput(r.text) // complaint tells the model the error
	}
	r.repair = !final && d.engine.needsRepair(r)
	change := &ledger.Responded{
		Message: r.message, Calls: d.newCalls(r.calls), Finish: r.finish, Endpoint: r.endpoint,
		Usage: r.usage, Repair: r.repair, Estimated: r.estimated,
	}
	if d.engine.hasLimit(isSpendingLimited) {
		change.Size = callSize(q, &d.agent.info)
	}
	return d.rec.record([]Event{end}, change)
}

// warnOnce emits a warning, unless it is empty or was emitted before.
func (d *dialog) warnOnce(text string) {
	if text == "" || d.warned[text] {
		return
	}
	if d.warned == nil {
		d.warned = map[string]bool{}
	}
	d.warned[text] = true
	d.rec.show(&Warning{Text: text})
}
