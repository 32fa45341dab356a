package adapter

import (
	"context"
	"errors"
	"sync"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Call prepares one call of a model and runs it, see [Catalog.Prepare] and
// [Prepared.Run]. The result is never nil.
func (c *Catalog) Call(ctx context.Context, call llms.ToolCall, opts ...mcpclient.CallOption) *Result {
	tool, ok := c.Lookup(function(call).Name)
	if !ok {
		return c.unknown(call)
	}
	return tool.calls.call(ctx, tool, call, opts)
}

// Dispatch runs the calls of one answer of a model, at most
// [Options.Parallelism] at the same time, and returns the messages that answer
// them: one for each call, in the order of the calls. Images and sounds are
// left out; [Catalog.Call] has them.
//
// The error joins what is fatal among the results (see [Result.Fatal]). The
// messages are complete even then.
func (c *Catalog) Dispatch(ctx context.Context, calls []llms.ToolCall) ([]llms.MessageContent, error) {
	results := make([]*Result, len(calls))
	free := make(chan struct{}, max(min(c.parallelism, len(calls)), 1))
	var running sync.WaitGroup
	for i, call := range calls {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			results[i] = c.Call(ctx, call)
		})
	}
	running.Wait()
	messages := make([]llms.MessageContent, len(calls))
	var errs []error
	for i, r := range results {
		messages[i] = r.message()
		errs = append(errs, r.Fatal())
	}
	return messages, errors.Join(errs...)
}
