package adapter

import (
	"context"
	"encoding/json"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Prepared is a call of a model with the tool that it means and the arguments in
// their final form. Show these to whoever approves the call: [Prepared.Run] runs
// that tool with exactly them, or nothing. It never changes and may be run
// several times.
type Prepared struct {
	call      llms.ToolCall
	tool      *Tool
	arguments json.RawMessage
	approved  bool   // the arguments are allowed
	edited    bool   // whoever approved the call has changed them
	key       string // of idempotency, "" for none
}

// Prepare finds the tool that a call means and makes of what the model wrote the
// arguments to send. The error is [ErrUnknownTool], [ErrArguments] or
// [ErrStale].
//
// It accepts a JSON object, one inside a string or a code fence, one in the
// __arg1 parameter of langchaingo's agents or in the one property that the
// catalog's profile asks for, and one that is followed by the lines that ReAct
// models continue with. For a tool with a single parameter, or a single required
// one, its bare value will do. Nothing at all means no arguments.
//
// Arguments that do not fit the tool's schema are repaired where the schema says
// what was meant: "3" becomes 3 and 3 becomes "3", JSON in a string is decoded,
// a value is put into the list that it belongs in, and null goes where an
// optional property cannot be null.
func (c *Catalog) Prepare(call llms.ToolCall) (*Prepared, error) {
	name := function(call).Name
	tool, ok := c.Lookup(name)
	if !ok {
		return nil, &unknownToolError{name: name}
	}
	return tool.Prepare(call, tool.wrapped)
}

// Prepare is [Catalog.Prepare] for a call that is known to mean this tool, such as one
// of another process, see [Catalog.Find]. wrapped is [Tool.Wrapped] of the tool that the
// model was offered. The name in the call does not count.
func (t *Tool) Prepare(call llms.ToolCall, wrapped bool) (*Prepared, error) {
	t = t.shownAs(wrapped)
	arguments, err := t.calls.read(t, call)
	if err != nil {
		return nil, err
	}
	return newPrepared(call, Prepared{tool: t, arguments: arguments}), nil
}

// Restore is a call with the arguments that were approved, here or in another process,
// edited if whoever approved it had changed them. They are checked, and sent as they
// are; no approval is asked for again. The error is [ErrArguments] or
// [ErrStale].
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

// newPrepared completes a value with a call that does not change with the caller's.
func newPrepared(call llms.ToolCall, value Prepared) *Prepared {
	p := &struct {
		Prepared
		asked llms.FunctionCall
	}{value, function(call)}
	call.FunctionCall = &p.asked
	p.call = call
	return &p.Prepared
}

// Tool is the tool that the call means.
func (p *Prepared) Tool() *Tool { return p.tool }

// Arguments are what is sent: read, repaired where that was needed, and checked.
func (p *Prepared) Arguments() json.RawMessage { return append(json.RawMessage(nil), p.arguments...) }

// WithArguments is the same call with arguments of the host. They are sent as
// they are: a JSON object that fits the tool's schema. The error is
// [ErrArguments]. The call must be approved again.
func (p *Prepared) WithArguments(arguments json.RawMessage) (*Prepared, error) {
	checked, err := p.tool.check(arguments)
	if err != nil {
		return nil, err
	}
	return &Prepared{call: p.call, tool: p.tool, arguments: checked, key: p.key}, nil
}

// WithKey is the same call with a key that is the same each time the call is made, and
// that no other call has. It goes to the server, see [Server.KeyInMeta]; models and
// whoever approves the call do not see it. What continues a round has a key of its own
// that is made of it.
func (p *Prepared) WithKey(key string) *Prepared {
	keyed := *p
	keyed.key = key
	return &keyed
}

// NeedsApproval reports whether Approve would ask for a decision, or recall one.
func (p *Prepared) NeedsApproval(ctx context.Context) bool {
	return !p.approved && p.tool.asks(ctx) != nil
}

// Approve has the call approved, if that is needed, and returns it as it was approved,
// with the arguments of the decision. Run then asks only if an interceptor changes the
// arguments. Without Approve it is Run that asks.
//
// The error is [ErrDenied], [ErrUndecided] or [ErrStale], or it says
// that the server cannot be reached. [Catalog.Refuse] makes the model's answer of it.
func (p *Prepared) Approve(ctx context.Context) (*Prepared, error) {
	if p.approved {
		return p, nil
	}
	arguments, edited, err := p.tool.calls.approve(ctx, p.tool, p.call, p.arguments)
	if err != nil {
		return nil, err
	}
	return &Prepared{call: p.call, tool: p.tool, arguments: arguments, approved: true, edited: edited, key: p.key}, nil
}

// Decide is Approve with a decision that was made elsewhere: a person may have answered
// long after the question, and in another process. It is remembered if it asks for that.
func (p *Prepared) Decide(ctx context.Context, d approval.Decision) (*Prepared, error) {
	arguments, edited, err := p.tool.decided(d, p.arguments)
	p.tool.calls.approvals.remember(ctx, d, p.question(ctx))
	if err != nil {
		return nil, err
	}
	return &Prepared{call: p.call, tool: p.tool, arguments: arguments, approved: true, edited: edited, key: p.key}, nil
}

// question is what a decision on the call is remembered for.
func (p *Prepared) question(ctx context.Context) *question {
	user, known := p.tool.calls.approvals.userOf(ctx)
	about := &approval.Request{Server: p.tool.policy.label, Name: p.tool.name, Arguments: p.arguments}
	return &question{tool: p.tool, about: about, user: user, anonymous: !known}
}

// Run runs the call and returns its result, which is never nil. The options are
// passed on, so that progress can be shown; [mcpclient.WithIdleTimeout] and
// [mcpclient.WithTimeout] among them replace the toolset's limits. The call fails with
// [ErrStale] when the tool is not what it was when the catalog was made.
//
// A call may become a task, as [mcpclient.WithTask] has it: at a server of the modern
// era that has tasks, and of tools that say that they must be called as one.
//
// With [mcpclient.WithManualInput] among the options a call that needs input ends with
// [Result.InputRequired], and continues by [Prepared.Continue].
//
// It returns as soon as the context ends.
func (p *Prepared) Run(ctx context.Context, opts ...mcpclient.CallOption) *Result {
	return p.tool.calls.run(ctx, p.sending(), opts)
}

// Continue takes up a call that ran [mcpclient.WithManualInput] and needed input:
// round is [Result.InputRequired], also of another process, and answers are as for
// [mcpclient.Continue]. The round must be of this tool and these arguments, or nothing
// is sent: prepare the same call again, [Prepared.WithArguments] if whoever approved it
// changed them. Approval is not asked for again. With WithManualInput among the options
// further questions come as another round. A round is continued once.
func (p *Prepared) Continue(ctx context.Context, round *mcp.InputRequired, answers map[string]any, opts ...mcpclient.CallOption) *Result {
	s := p.sending()
	s.approved, s.round, s.answers = p.arguments, round, answers
	if err := s.belongs(round); err != nil {
		return (&Result{Call: p.call, Tool: p.tool}).fail(ctx, err)
	}
	return p.tool.calls.run(ctx, s, opts)
}

// AnswerInput has the handlers of the server's connection answer one question of a round of
// this call, as they do in a call. key is the question's, among the InputRequests of the round. The answer is
// for [Prepared.Continue], under the same key. The error of a handler that leaves the question to a person
// matches [mcp.ErrAnswerLater]; others say that no handler answers, or that the server cannot be reached.
func (p *Prepared) AnswerInput(ctx context.Context, round *mcp.InputRequired, key string) (json.RawMessage, error) {
	t, conn, err := p.tool.calls.held(ctx, p.tool)
	if err != nil {
		return nil, err
	}
	defer conn.release(callerOf(ctx))
	if t.client == nil {
		return nil, &roundError{"there is no server"}
	}
	s := &sending{tool: p.tool, call: p.call, key: p.key, view: viewOf(ctx)}
	return mcpclient.AnswerInput(&callContext{ctx, s}, t.client, round, key)
}

// Resume continues with a call that has become a task, here or in another process: id is
// that of the state that [mcpclient.WithTaskStarted] told. Nothing is sent again and
// approval is not asked for; the result is that of the task. A Run whose context ended
// with [mcpclient.ErrDetach] as its cause leaves its task to a later Resume, and so does
// a Resume. If the context ends otherwise, the task is cancelled.
//
// For a task that needed input, round is the last [Result.InputRequired], and answers are as for [mcpclient.Continue]; both are
// nil otherwise.
func (p *Prepared) Resume(ctx context.Context, id string, round *mcp.InputRequired, answers map[string]any, opts ...mcpclient.CallOption) *Result {
	s := p.sending()
	s.round, s.answers = round, answers
	s.approved, s.task, s.sent = p.arguments, id, true
	if id == "" || p.tool.local != nil {
		return (&Result{Call: p.call, Tool: p.tool}).fail(ctx, &roundError{"there is no task"})
	}
	return p.tool.calls.run(ctx, s, opts)
}

func (p *Prepared) sending() *sending {
	s := &sending{tool: p.tool, call: p.call, checked: p.arguments, edited: p.edited, key: p.key}
	if p.approved {
		s.approved = p.arguments
	}
	return s
}
