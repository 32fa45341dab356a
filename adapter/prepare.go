package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Prepared is a call of a model with the tool that it means and the arguments in
// their final form. Show these to whoever approves the call: [Prepared.Run] runs
// that tool with exactly them, or nothing. It never changes and may be run
// several times.
type Prepared struct {
	call      llms.ToolCall
	tool      *Tool
	arguments json.RawMessage
}

// Prepare finds the tool that a call means and makes of what the model wrote the
// arguments to send. The error is an [*UnknownToolError], an [*ArgumentError] or
// a [*StaleToolError].
//
// It accepts a JSON object, one inside a string or a code fence, one in the
// __arg1 parameter of langchaingo's agents or in the one property that the
// catalog's [Profile] asks for, and one that is followed by the lines that ReAct
// models go on with. For a tool with a single parameter, or a single required
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
		return nil, &UnknownToolError{Name: name}
	}
	return tool.prepare(call)
}

// prepare reads a call that is for this tool.
func (t *Tool) prepare(call llms.ToolCall) (*Prepared, error) {
	if _, err := t.current(); err != nil {
		return nil, err
	}
	asked := function(call)
	arguments, err := t.arguments(asked.Arguments)
	if err != nil {
		return nil, err
	}
	call.FunctionCall = &asked // the caller's may change
	return &Prepared{call: call, tool: t, arguments: arguments}, nil
}

// Call is the call as the model made it.
func (p *Prepared) Call() llms.ToolCall { return p.call }

// Tool is the tool that the call means.
func (p *Prepared) Tool() *Tool { return p.tool }

// Arguments are what is sent: read, repaired where that was needed, and checked.
func (p *Prepared) Arguments() json.RawMessage { return append(json.RawMessage(nil), p.arguments...) }

// WithArguments is the same call with arguments of the host. They are sent as
// they are: a JSON object that fits the tool's schema. The error is an
// [*ArgumentError].
func (p *Prepared) WithArguments(arguments json.RawMessage) (*Prepared, error) {
	checked, err := p.tool.check(arguments)
	if err != nil {
		return nil, err
	}
	return &Prepared{call: p.call, tool: p.tool, arguments: checked}, nil
}

// Run runs the call and returns its result, which is never nil. The options are
// passed on, so that progress can be shown; [mcpclient.WithIdleTimeout] and
// [mcpclient.WithTimeout] among them replace the toolset's limits. The call fails with
// a [*StaleToolError] when the tool is not what it was when the catalog was made.
//
// A call may become a task, as [mcpclient.WithTask] has it: at a server of the modern
// era that has tasks, and of tools that say that they must be called as one.
//
// It returns as soon as the context ends.
func (p *Prepared) Run(ctx context.Context, opts ...mcpclient.CallOption) *Result {
	t := p.tool
	r := &Result{Call: p.call, Tool: t}
	if err := ctx.Err(); err != nil {
		return r.fail(ctx, t.about(err))
	}
	if t.local != nil {
		return r.answer(t.local(ctx, p.arguments), nil)
	}
	opts = append(t.opts.limits(), opts...)
	s := &sending{call: p, checked: p.arguments}
	req := &Request{Tool: t, Call: p.call, Arguments: p.Arguments(), Options: opts}
	res, err := s.through(withCall(ctx, t, &p.call), req)
	var edited json.RawMessage
	if s.edited {
		edited = s.approved
	}
	if bad, ok := errors.AsType[*mcpclient.OutputError](err); ok && ctx.Err() == nil {
		return r.breach(err, bad, edited)
	}
	if err != nil {
		return r.fail(ctx, err)
	}
	return r.answer(res, edited)
}

// about says which call of a tool an error is about.
func (t *Tool) about(err error) error {
	return fmt.Errorf("server %q: call tool %q: %w", t.server.label, t.def.Name, err)
}

// limits bound a call of a tool where the toolset has its own bounds.
func (o *Options) limits() (opts []mcpclient.CallOption) {
	if o.IdleTimeout != 0 {
		opts = append(opts, mcpclient.WithIdleTimeout(o.IdleTimeout))
	}
	if o.CallTimeout != 0 {
		opts = append(opts, mcpclient.WithTimeout(o.CallTimeout))
	}
	return opts
}
