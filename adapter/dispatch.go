package adapter

import (
	"context"
	"errors"
	"sync"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Call prepares and runs one call of a model, see [Catalog.Prepare] and [Prepared.Run]. The
// result is never nil.
func (c *Catalog) Call(ctx context.Context, call llms.ToolCall, opts ...mcpclient.CallOption) *Result {
	tool, ok := c.Lookup(function(call).Name)
	if !ok {
		return c.unknownResult(call)
	}
	return tool.calls.call(ctx, tool, call, opts)
}

// parallelism bounds the concurrent calls of a reply.
const parallelism = 8

// Dispatch runs the calls of one reply, at most 8 concurrently, and returns one message for each,
// in the order of the calls. It omits images and audio; [Catalog.Call] returns them.
//
// The error joins the fatal errors of the results ([Result.Fatal]). The messages are complete even
// then.
func (c *Catalog) Dispatch(ctx context.Context, calls []llms.ToolCall) ([]llms.MessageContent, error) {
	results := make([]*Result, len(calls))
	free := make(chan struct{}, parallelism)
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
