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

// mayAsk reports whether a person may be asked about one of the calls.
func (t *turn) mayAsk(calls []*ledger.Call) bool {
	return slices.ContainsFunc(calls, func(c *ledger.Call) bool {
		j := t.tools.job(c)
		return j.err == nil && c.Reply == nil && j.call.NeedsApproval(t.scope.ctx)
	})
}

// decide decides on proposed calls, in order. Decisions that need neither a hook nor an approval are
// recorded together.
func (t *turn) decide(calls []*ledger.Call) error {
	var batch []ledger.Change
	canBatch := len(t.agent.opts.Hooks) == 0 && t.rec.stopAnswer() == nil
	for _, c := range calls {
		j := t.tools.job(c)
		if canBatch && t.isAllowed(c, j) {
			batch = append(batch, t.allow(c, j, j.call))
			continue
		}
		if err := t.rec.record(nil, batch...); err != nil {
			return err
		}
		batch = nil
		if err := t.admit(c); err != nil {
			return err
		}
	}
	return t.rec.record(nil, batch...)
}

// isAllowed reports whether a call may run without an approval.
func (t *turn) isAllowed(c *ledger.Call, j *job) bool {
	if j.err != nil || c.Reply != nil {
		return false
	}
	return !j.call.NeedsApproval(t.scope.ctx) && !t.exceedsCalls(c)
}

// exceedsCalls reports whether a call exceeds Limits.Calls. The limit does not apply to a call that
// gives the structured output, nor to one with a person's reply.
func (t *turn) exceedsCalls(c *ledger.Call) bool {
	if c.Reply != nil || t.engine.isOutputCall(c) {
		return false
	}
	return isReached(t.rec.callsBefore(c), t.rec.state.Limits.Calls)
}

// allow prepares a call to run as it was approved, and returns the change that records the decision.
func (t *turn) allow(c *ledger.Call, j *job, call *adapter.Prepared) ledger.Change {
	d := t.newDecided.one()
	d.Call, d.Decision.Allow, d.Args = c.ID, true, call.Arguments()
	if string(d.Args) != j.eventCall.Arguments {
		d.Decision.Arguments = d.Args
		j.eventCall.Arguments = string(d.Args)
	}
	j.call = call
	return d
}

// admit decides whether a call runs: by the hooks and the approval, or by the reply of a person to
// whom the question was put before. A call that does not run gets its outcome. An error ends the run.
func (t *turn) admit(c *ledger.Call) error {
	j := t.tools.job(c)
	if t.rec.stopAnswer() != nil {
		return t.sender.recordStop(j, nil)
	}
	if t.exceedsCalls(c) {
		text := fmt.Sprintf("The call was not run: the limit of %d tool calls is reached.", t.rec.state.Limits.Calls)
		return t.sender.recordOutcome(j, j.errorResult(text, nil), 0)
	}
	if j.err != nil {
		return t.sender.recordRefusal(j, j.err)
	}
	var call *adapter.Prepared
	var err error
	if c.Reply != nil {
		call, err = j.call.Decide(t.scope.ctx, decisionOf(c.Reply))
	} else {
		if ended, err := t.callHooks(j); ended || err != nil {
			return err
		}
		call, err = j.call.Approve(t.scope.ctx)
	}
	switch {
	case errors.Is(err, errAsk):
		return t.questions.add(&run.Question{
			Kind: run.QuestionApproval, Call: c.ID, Server: c.Server, Tool: c.Name,
			Arguments: j.call.Arguments(), Definition: j.call.Tool().Definition(), Survives: true,
		})
	case err != nil:
		return t.sender.recordRefusal(j, err)
	}
	return t.rec.record(nil, t.allow(c, j, call))
}

// callHooks calls the BeforeTool hooks for a call. ended means that the call has its outcome, because
// a hook denies it or ends the run.
func (t *turn) callHooks(j *job) (ended bool, err error) {
	err = hooks(t.agent.opts.Hooks).beforeTool(t.scope.ctx, t.rec, j)
	if denied, ok := denial(j, err); ok {
		return true, t.sender.recordOutcome(j, denied, 0)
	}
	if answer := hookAnswer(err); answer != nil {
		return true, t.sender.recordStop(j, answer)
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
