package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
)

// asCaller returns the context of the tool calls of this turn. What they ask of a
// person or a model comes to the run.
func (r *run) asCaller() context.Context {
	turn := r.turn
	return adapter.WithCaller(r.ctx, &adapter.Caller{
		Approve:       func(next adapter.ApproveFunc) adapter.ApproveFunc { return r.approver(turn, next) },
		Elicit:        r.elicit,
		CreateMessage: r.createMessage,
	})
}

// approver returns what decides on a call, nil if every call may run: Options.Approve
// instead of the toolset's function, between two events.
func (r *run) approver(turn int, next adapter.ApproveFunc) adapter.ApproveFunc {
	ask := r.agent.opts.Approve
	if ask == nil {
		ask = next
	}
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, a *adapter.Approval) (adapter.Decision, error) {
		call := Call{
			Turn: turn, ID: a.Call.ID, Name: a.Name, Arguments: string(a.Arguments),
			Server: a.Server, Tool: a.Definition.Name,
		}
		if !r.emit(&ApprovalAsked{Call: call, Approval: a}) {
			return adapter.Decision{}, r.ended()
		}
		start := time.Now()
		var decision adapter.Decision
		err := guarded("approve callback", func() (err error) {
			decision, err = ask(ctx, a)
			return err
		})
		if err != nil {
			return adapter.Decision{}, err
		}
		if !r.emit(&ApprovalDecided{Call: call, Approval: a, Decision: decision, Duration: time.Since(start)}) {
			return adapter.Decision{}, r.ended()
		}
		return decision, nil
	}
}

// admit decides whether a call runs. One that does not has its result then, a
// text for the model.
func (r *run) admit(ctx context.Context, j *job) error {
	o := r.agent.opts
	r.calls++
	if r.calls > o.MaxToolCalls {
		r.cutShort = true
		text := fmt.Sprintf("The call was not run: the limit of %d tool calls is reached.", o.MaxToolCalls)
		j.result = &adapter.Result{Call: j.asked, Tool: j.tool, Text: text, IsError: true}
		return nil
	}
	call, err := r.catalog.Prepare(j.asked)
	if err == nil {
		j.prepared(call)
		call, err = call.Approve(ctx)
	}
	if err == nil {
		j.prepared(call)
		return nil
	}
	return r.refuse(j, err)
}

// prepared takes a call as the one that runs.
func (j *job) prepared(call *adapter.Prepared) {
	j.call, j.about.Arguments = call, string(call.Arguments())
}

// refuse tells the model why a call does not run.
func (r *run) refuse(j *job, err error) error {
	switch {
	case r.ctx.Err() != nil:
		return r.ended()
	case undecided(err):
		return err
	}
	j.result = r.catalog.Refuse(r.ctx, j.asked, err)
	r.noteLost(j)
	return nil
}

// undecided reports whether an approval failed, which ends the run. If the person
// wrote arguments that do not fit, the model is told.
func undecided(err error) bool {
	_, failed := errors.AsType[*adapter.ApprovalError](err)
	_, unfit := errors.AsType[*adapter.ArgumentError](err)
	return failed && !unfit
}
