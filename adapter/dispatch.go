package adapter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Call runs one call of a model and returns its result, which is never nil. The
// options are passed on, so that progress can be shown; [mcpclient.WithTimeout]
// among them replaces the toolset's.
//
// A call may become a task, as [mcpclient.WithTask] has it: at a server of the modern
// era that has tasks, and of tools that say that they must be called as one.
//
// It returns as soon as the context ends.
func (t *Toolset) Call(ctx context.Context, call llms.ToolCall, opts ...mcpclient.CallOption) *Result {
	tool, ok := t.Lookup(function(call).Name)
	if !ok {
		return t.unknown(call)
	}
	return tool.run(ctx, call, opts)
}

// run runs a call that is for this tool.
func (t *Tool) run(ctx context.Context, call llms.ToolCall, opts []mcpclient.CallOption) *Result {
	r := &Result{Call: call, Tool: t}
	if err := ctx.Err(); err != nil {
		return r.fail(ctx, fmt.Errorf("server %q: call tool %q: %w", t.server.label, t.def.Name, err))
	}
	args, err := t.Arguments(function(call).Arguments)
	if err != nil {
		return r.fail(ctx, err)
	}
	if t.local != nil {
		return r.answer(t.local(ctx, args), nil)
	}
	if t.opts.Timeout > 0 {
		opts = append([]mcpclient.CallOption{mcpclient.WithTimeout(t.opts.Timeout)}, opts...)
	}
	s := &sending{tool: t, checked: args}
	req := &Request{Tool: t, Call: call, Arguments: args, Options: opts}
	res, err := s.through(withCall(ctx, t, &call), req)
	if err != nil {
		return r.fail(ctx, err)
	}
	if s.edited {
		return r.answer(res, s.approved)
	}
	return r.answer(res, nil)
}

// Dispatch runs the calls of one answer of a model, at most
// [Options.Parallelism] at the same time, and returns the messages that answer
// them: one for each call, in the order of the calls. Images and sounds are
// left out; [Toolset.Call] has them.
//
// The error joins what is fatal among the results (see [Result.Fatal]). The
// messages are complete even then.
func (t *Toolset) Dispatch(ctx context.Context, calls []llms.ToolCall) ([]llms.MessageContent, error) {
	results := make([]*Result, len(calls))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(t.opts.Parallelism, len(calls)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(calls)); i = next.Add(1) - 1 {
				results[i] = t.Call(ctx, calls[i])
			}
		})
	}
	wg.Wait()
	messages := make([]llms.MessageContent, len(calls))
	var errs []error
	for i, r := range results {
		messages[i] = r.Message()
		errs = append(errs, r.Fatal())
	}
	return messages, errors.Join(errs...)
}
