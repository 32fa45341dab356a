package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Approval is a tool call that awaits a decision. Its arguments are in their final
// form: read, repaired where that was needed, and checked. Exactly they are sent
// to exactly this tool, unless an interceptor of the toolset changes them; if the
// tool has changed or is gone by then, the call fails.
type Approval struct {
	Call

	// Definition is the server's description of the tool. Its annotations are
	// the server's claims, not facts.
	Definition *mcp.Tool
}

// Decision answers an [Approval]. The zero value denies.
type Decision struct {
	// Allow says that the call may run.
	Allow bool

	// Reason of a denial, told to the model.
	Reason string

	// Arguments to run an allowed call with instead of the model's: a JSON object
	// that fits the tool's schema, which is sent as it is. The model is told. Nil
	// keeps the model's.
	Arguments json.RawMessage
}

// Allow is the [Decision] to run the call as it is.
func Allow() Decision { return Decision{Allow: true} }

// AllowWith is the [Decision] to run the call with other arguments, a JSON
// object.
func AllowWith(arguments json.RawMessage) Decision {
	return Decision{Allow: true, Arguments: arguments}
}

// Deny is the [Decision] not to run the call. The model is told the reason and
// goes on.
func Deny(reason string) Decision { return Decision{Reason: reason} }

// ApproveFunc decides on a tool call before it runs.
type ApproveFunc func(ctx context.Context, a *Approval) (Decision, error)

// admit decides whether a call runs. One that does not has its result then, a
// text for the model.
func (r *run) admit(j *job) error {
	o := r.agent.opts
	r.calls++
	if r.calls > o.MaxToolCalls {
		r.cutShort = true
		j.refuse(fmt.Sprintf("The call was not run: the limit of %d tool calls is reached.", o.MaxToolCalls), nil)
		return nil
	}
	if j.tool == nil {
		j.refuse(r.unknownTool(j.about.Name), &adapter.UnknownToolError{Name: j.about.Name})
		return nil
	}
	call, err := r.catalog.Prepare(j.asked)
	if err != nil {
		j.refuse(unprepared(err), err)
		return nil
	}
	j.prepared(call)
	if o.Approve == nil {
		return nil
	}
	decision, err := r.approve(j)
	switch {
	case err != nil:
		return err
	case !decision.Allow && decision.Reason == "":
		j.refuse("The call was not run: it was not approved.", nil)
	case !decision.Allow:
		j.refuse("The call was not run: it was not approved: "+decision.Reason, nil)
	case decision.Arguments != nil:
		if call, err = call.WithArguments(decision.Arguments); err != nil {
			j.refuse(fmt.Sprintf("The call was not run: the user changed the arguments to some that do not fit: %v.", err), err)
			return nil
		}
		j.edited = true
		j.prepared(call)
	}
	return nil
}

// prepared takes a call as the one that runs.
func (j *job) prepared(call *adapter.Prepared) {
	j.call, j.about.Arguments = call, string(call.Arguments())
}

// unprepared tells the model why its call cannot run.
func unprepared(err error) string {
	next := "Correct the arguments and call the tool again."
	if _, stale := errors.AsType[*adapter.StaleToolError](err); stale {
		next = "Go by the tools that you are offered now."
	}
	return fmt.Sprintf("The call was not run: %v. %s", err, next)
}

func (j *job) refuse(text string, err error) {
	j.result = &adapter.Result{Call: j.asked, Tool: j.tool, Text: text, IsError: true, Err: err}
}

// approve asks Options.Approve about a call.
func (r *run) approve(j *job) (Decision, error) {
	a := &Approval{Call: j.about, Definition: j.tool.Definition()}
	if !r.emit(&ApprovalAsked{a}) {
		return Decision{}, r.ended()
	}
	start := time.Now()
	var decision Decision
	err := guarded("approve callback", func() (err error) {
		decision, err = r.agent.opts.Approve(r.ctx, a)
		return err
	})
	switch {
	case r.ctx.Err() != nil:
		return Decision{}, r.ended()
	case err != nil:
		return Decision{}, fmt.Errorf("approve call of tool %q: %w", j.about.Name, err)
	}
	if !r.emit(&ApprovalDecided{Approval: a, Decision: decision, Duration: time.Since(start)}) {
		return Decision{}, r.ended()
	}
	return decision, nil
}

// unknownTool tells the model which tools there are.
func (r *run) unknownTool(name string) string {
	const most = 100
	var names []string
	if r.catalog != nil {
		for _, t := range r.catalog.Tools() {
			names = append(names, t.Name())
		}
	}
	switch n := len(names); {
	case n == 0:
		return fmt.Sprintf("There is no tool %q; there are no tools at all.", name)
	case n > most:
		names = append(names[:most], "…")
	}
	return fmt.Sprintf("There is no tool %q. There are: %s.", name, strings.Join(names, ", "))
}
