package adapter

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Prepared is a call of a model with its tool and its arguments in their final form, for an approver to see: [Prepared.Run]
// calls that tool with exactly these arguments, or not at all. It is immutable and may be run several times.
type Prepared struct {
	call      llms.ToolCall
	tool      *Tool
	arguments json.RawMessage
	approved  bool   // the arguments have been approved
	edited    bool   // the approver has changed the arguments
	key       string // the idempotency key, "" for none
}

// Prepare finds the tool of a call and turns what the model wrote into the arguments to send. The
// error matches [ErrArguments] or [ErrStale], unless there is no tool with that name.
//
// It accepts a JSON object, even if it is inside a string or a code fence, is the value of the
// parameter __arg1 of langchaingo's agents or of the one property that the catalog's profile asks
// for, or is followed by the lines that ReAct models continue with. A tool with a single parameter,
// or a single required one, accepts its bare value. Empty input means no arguments.
//
// Arguments that do not fit the schema are repaired where it leaves only one meaning: "3"
// becomes 3 and 3 becomes "3", JSON in a string is decoded, a value is wrapped in the list that
// the schema wants, and null is dropped where an optional property does not allow it.
func (c *Catalog) Prepare(call llms.ToolCall) (*Prepared, error) {
	name := function(call).Name
	tool, ok := c.Lookup(name)
	if !ok {
		return nil, &unknownToolError{name: name}
	}
	return tool.Prepare(call, tool.wrapped)
}

// Prepare is [Catalog.Prepare] for a call that is known to mean this tool, for example one of
// another process, see [Catalog.LookupStored]. wrapped is [Tool.Wrapped] of the tool that the model
// was offered. The name in the call is ignored.
func (t *Tool) Prepare(call llms.ToolCall, wrapped bool) (*Prepared, error) {
	t = t.shownAs(wrapped)
	if _, err := t.calls.current(t); err != nil {
		return nil, err
	}
	arguments, err := t.arguments(function(call).Arguments)
	if err != nil {
		return nil, err
	}
	return newPrepared(call, Prepared{tool: t, arguments: arguments}), nil
}

// Restore returns a call with arguments that were approved here or in another process; edited says
// whether the approver had changed them. They are checked and sent as they are, without another
// approval. The error matches [ErrArguments] or [ErrStale].
func (t *Tool) Restore(call llms.ToolCall, arguments json.RawMessage, edited bool) (*Prepared, error) {
	if _, err := t.calls.current(t); err != nil {
		return nil, err
	}
	checked, err := t.check(arguments)
	if err != nil {
		return nil, err
	}
	return newPrepared(call, Prepared{tool: t, arguments: checked, approved: true, edited: edited}), nil
}

// newPrepared completes a value with a copy of the caller's call.
func newPrepared(call llms.ToolCall, value Prepared) *Prepared {
	p := &struct {
		Prepared
		asked llms.FunctionCall
	}{value, function(call)}
	call.FunctionCall = &p.asked
	p.call = call
	return &p.Prepared
}

// Tool returns the tool of the call.
func (p *Prepared) Tool() *Tool { return p.tool }

// Arguments returns a copy of the arguments to send.
func (p *Prepared) Arguments() json.RawMessage { return slices.Clone(p.arguments) }

// WithArguments returns the call with the program's arguments, a JSON object that fits the tool's
// schema and is sent as it is. The call needs another approval. The error matches [ErrArguments].
func (p *Prepared) WithArguments(arguments json.RawMessage) (*Prepared, error) {
	checked, err := p.tool.check(arguments)
	if err != nil {
		return nil, err
	}
	return &Prepared{call: p.call, tool: p.tool, arguments: checked, key: p.key}, nil
}

// WithIdempotencyKey returns the call with a key that is unique to it and the same each time it is made. The server gets
// it, see [Server.KeyInMeta]; models and approvers do not see it. The continuation of a round gets a key derived from it.
func (p *Prepared) WithIdempotencyKey(key string) *Prepared {
	keyed := *p
	keyed.key = key
	return &keyed
}

// NeedsApproval reports whether Approve would ask for a decision or recall one.
func (p *Prepared) NeedsApproval(ctx context.Context) bool {
	return !p.approved && p.tool.approver(ctx) != nil
}

// Approve asks for a decision about the call, if one is needed, and returns the call with the arguments of the
// decision. Run then asks only if an interceptor changes them. Without Approve, Run asks.
//
// The error matches [ErrUndecided] or [ErrStale], or says that the call was denied or that the
// server cannot be reached. [Catalog.ErrorResult] turns it into the answer for the model.
func (p *Prepared) Approve(ctx context.Context) (*Prepared, error) {
	if p.approved {
		return p, nil
	}
	if !p.NeedsApproval(ctx) {
		return p.withDecision(p.arguments, false), nil
	}
	calls := p.tool.calls
	if _, err := calls.connectedTool(p.tool); err != nil { // nobody is asked about a call that cannot be made
		return nil, err
	}
	if view := currentView(ctx); ViewFrom(ctx) != view { // the view of an enclosing call does not count
		ctx = WithView(ctx, view)
	}
	arguments, edited, err := calls.approvals.approve(ctx, p.tool, p.call, p.arguments)
	if err != nil {
		return nil, err
	}
	return p.withDecision(arguments, edited), nil
}

// withDecision returns the call with the arguments of a decision.
func (p *Prepared) withDecision(arguments json.RawMessage, edited bool) *Prepared {
	decided := *p
	decided.arguments, decided.approved, decided.edited = arguments, true, edited
	return &decided
}

// Decide is Approve with a decision that was made elsewhere, possibly later and in another process.
// It is stored as its Remember says.
func (p *Prepared) Decide(ctx context.Context, d approval.Decision) (*Prepared, error) {
	arguments, edited, err := p.tool.apply(d, p.arguments)
	approvals := p.tool.calls.approvals
	approvals.remember(ctx, d, approvals.newQuestion(ctx, p.tool, p.arguments))
	if err != nil {
		return nil, err
	}
	return p.withDecision(arguments, edited), nil
}

// Run runs the call and returns its result, which is never nil. It passes the options on;
// [mcpclient.WithIdleTimeout] and [mcpclient.WithTimeout] override the toolset's limits. The
// call fails with [ErrStale] if the tool has changed since the catalog was made.
//
// With [mcpclient.WithTask] the call may become a task, at servers of revision 2026-07-28 or later
// with tasks, and for tools that require it. With [mcpclient.WithManualInput] a call that needs
// input ends with an [*mcp.InputRequired] in Result.Err, and [Prepared.Continue] continues it.
//
// Run returns as soon as the context ends, but not before code of the program does that runs on its goroutine: a function,
// an interceptor, or Approve.
func (p *Prepared) Run(ctx context.Context, opts ...mcpclient.CallOption) *Result {
	return p.tool.calls.run(ctx, p.newPendingCall(), opts)
}

// Continue continues a call that needed input or has become a task, here or in another process. No approval is asked for.
//
// round is the last [*mcp.InputRequired] of a call with [mcpclient.WithManualInput], nil for a task
// that needed no input; answers are as for [mcpclient.Continue]. Continue a round only once. task is ""
// or, for a task, the id in the state that [mcpclient.WithTaskStarted] reported.
//
// Without a task, the round must belong to this tool and these arguments, or nothing is sent: prepare
// the same call again, with [Prepared.WithArguments] if the approver had changed them. With a task,
// nothing is sent again, and the result is the task's. If the context ends with the cause
// [mcpclient.ErrDetach], the task continues for a later Continue; otherwise it is cancelled.
func (p *Prepared) Continue(
	ctx context.Context, task string, round *mcp.InputRequired, answers map[string]any, opts ...mcpclient.CallOption,
) *Result {
	s := p.newPendingCall()
	s.approvedArgs, s.task, s.round, s.answers = p.arguments, task, round, answers
	var err error
	switch {
	case p.tool.local != nil:
		err = &roundError{"a function has neither rounds nor tasks"}
	case task == "":
		err = s.checkRound(round)
	default:
		s.sent = true
	}
	if err != nil {
		return (&Result{Call: p.call, Tool: p.tool, begun: p.tool.local == nil}).fail(ctx, err)
	}
	return p.tool.calls.run(ctx, s, opts)
}

// AnswerInput lets the connection's handlers answer one question of a round, as during a call. key is its key in
// InputRequests; the answer goes to [Prepared.Continue] under the same key. An error that matches [mcp.ErrAnswerLater]
// leaves the question to a person; others say that no handler answers, or that the server cannot be reached.
func (p *Prepared) AnswerInput(ctx context.Context, round *mcp.InputRequired, key string) (json.RawMessage, error) {
	t, release, err := p.tool.calls.hold(ctx, p.tool, p.tool.server.policy.timeoutOptions())
	if err != nil {
		return nil, err
	}
	defer release()
	if t.client == nil {
		return nil, &roundError{"there is no server"}
	}
	s := &pendingCall{tool: p.tool, call: p.call, key: p.key, view: currentView(ctx)}
	return mcpclient.AnswerInput(&callContext{ctx, s}, t.client, round, key)
}

func (p *Prepared) newPendingCall() *pendingCall {
	s := &pendingCall{
		tool:        p.tool,
		call:        p.call,
		checkedArgs: p.arguments,
		edited:      p.edited,
		key:         p.key,
	}
	if p.approved {
		s.approvedArgs = p.arguments
	}
	return s
}
