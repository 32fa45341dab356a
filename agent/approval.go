package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// errAsk is the error of [AskPerson].
var errAsk = errors.New("a person is asked")

// AskPerson is an [approval.Func] that asks a person about each call: the run opens a question. A function
// of your own that asks about some calls returns what AskPerson returns for these.
func AskPerson(context.Context, *approval.Request) (approval.Decision, error) {
	return approval.Decision{}, errAsk
}

// decisions decides which calls of a turn run. It decides on one call at a time: on the scheduler's goroutine, or on that
// of a work item.
type decisions struct {
	shared
	tools  *tools
	sender *sender
	slab   slab[ledger.Decided] // turns may have very many calls
}

// mayAsk reports whether a person may be asked about one of the calls.
func (d *decisions) mayAsk(calls []*ledger.Call) bool {
	return slices.ContainsFunc(calls, func(c *ledger.Call) bool {
		j := d.tools.job(c)
		return j.err == nil && c.Reply == nil && j.call.NeedsApproval(d.scope.ctx)
	})
}

// decide decides on proposed calls, in order. Decisions that need neither a hook nor an approval are
// recorded together.
func (d *decisions) decide(calls []*ledger.Call) error {
	var batch []ledger.Change
	canBatch := len(d.agent.opts.Hooks) == 0 && d.rec.stopAnswer() == nil
	for _, c := range calls {
		j := d.tools.job(c)
		if canBatch && d.isAllowed(c, j) {
			batch = append(batch, d.allow(c, j, j.call))
			continue
		}
		if err := d.rec.record(nil, batch...); err != nil {
			return err
		}
		batch = nil
		if err := d.admit(c); err != nil {
			return err
		}
	}
	return d.rec.record(nil, batch...)
}

// isAllowed reports whether a call may run without an approval.
func (d *decisions) isAllowed(c *ledger.Call, j *job) bool {
	if j.err != nil || c.Reply != nil {
		return false
	}
	return !j.call.NeedsApproval(d.scope.ctx) && !d.exceedsCalls(c)
}

// exceedsCalls reports whether a call exceeds Limits.Calls. The limit does not apply to a call that
// gives the structured output, nor to one with a person's reply.
func (d *decisions) exceedsCalls(c *ledger.Call) bool {
	limit := d.rec.state.Limits.Calls
	return limit >= 0 && c.Reply == nil && !d.agent.isOutputCall(c) && d.rec.callsBefore(c) >= limit
}

// allow prepares a call to run as it was approved, and returns the change that records the decision.
func (d *decisions) allow(c *ledger.Call, j *job, call *adapter.Prepared) ledger.Change {
	change := d.slab.one()
	change.Call, change.Decision.Allow, change.Args = c.ID, true, call.Arguments()
	if string(change.Args) != j.eventCall.Arguments {
		change.Decision.Arguments = change.Args
		j.eventCall.Arguments = string(change.Args)
	}
	j.call = call
	return change
}

// admit decides whether a call runs: by the hooks and the approval, or by the reply of a person to
// whom the question was put before. A call that does not run gets its outcome. An error ends the run.
func (d *decisions) admit(c *ledger.Call) error {
	j := d.tools.job(c)
	if d.rec.stopAnswer() != nil {
		return d.sender.recordStop(j, nil)
	}
	if d.exceedsCalls(c) {
		text := fmt.Sprintf("The call was not run: the limit of %d tool calls is reached.", d.rec.state.Limits.Calls)
		return d.sender.recordOutcome(j, j.errorResult(text, nil), 0)
	}
	if j.err != nil {
		return d.sender.recordRefusal(j, j.err)
	}
	var call *adapter.Prepared
	var err error
	if c.Reply != nil {
		call, err = j.call.Decide(d.scope.ctx, decisionOf(c.Reply))
	} else {
		if ended, err := d.callHooks(j); ended || err != nil {
			return err
		}
		call, err = j.call.Approve(d.scope.ctx)
	}
	switch {
	case errors.Is(err, errAsk):
		return d.questions.add(&run.Question{
			Kind: run.QuestionApproval, Call: c.ID, Server: c.Server, Tool: c.Name,
			Arguments: j.call.Arguments(), Definition: j.call.Tool().Definition(), Survives: true,
		})
	case err != nil:
		return d.sender.recordRefusal(j, err)
	}
	return d.rec.record(nil, d.allow(c, j, call))
}

// callHooks calls the BeforeTool hooks for a call. ended means that the call has its outcome, because
// a hook denies it or ends the run.
func (d *decisions) callHooks(j *job) (ended bool, err error) {
	err = hooks(d.agent.opts.Hooks).beforeTool(d.scope.ctx, d.rec, j)
	if denied, ok := errors.AsType[*deniedError](err); ok {
		text := fmt.Sprintf("Error: the call of %s was denied: %s. Nothing was done.", j.eventCall.Name, denied.reason)
		return true, d.sender.recordOutcome(j, j.errorResult(text, err), 0)
	}
	if answer := hookAnswer(err); answer != nil {
		return true, d.sender.recordStop(j, answer)
	}
	return false, err
}

// decisionOf converts a reply to an approval into a decision of the adapter.
func decisionOf(a *run.Reply) approval.Decision {
	d := approval.Decision{Allow: a.Action == run.ActionAllow, Reason: a.Reason, Arguments: a.Arguments}
	for scope, name := range scopeNames {
		if name == a.Scope {
			d.Remember = scope
		}
	}
	return d
}

// scopeNames are the scopes of decisions as replies and records name them.
var scopeNames = map[approval.Scope]string{
	approval.ScopeCall:      "",
	approval.ScopeArguments: run.ScopeArguments,
	approval.ScopeTool:      run.ScopeTool,
	approval.ScopeServer:    run.ScopeServer,
}

// isUndecided reports whether err means that an approval failed, which ends the run. If the person
// wrote invalid arguments the model is told instead.
func isUndecided(err error) bool {
	return errors.Is(err, adapter.ErrUndecided) && !errors.Is(err, adapter.ErrArguments)
}
