package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// calls runs calls of tools. All tools of a toolset share one.
type calls struct {
	approvals *approvals
	intercept []Interceptor

	// current returns the present version of a tool, whose name and connection may differ. The error is an [ErrStale].
	current func(*Tool) (*Tool, error)

	// hold returns the present version of a tool, with its connection until release is called.
	// reconnectOlder, nil for functions, reconnects the server of a tool in an older protocol revision, and reports
	// whether it has that revision now.
	hold           func(context.Context, *Tool, []mcpclient.CallOption) (now *Tool, release func(), err error)
	reconnectOlder func(ctx context.Context, t *Tool, why error) bool

	// fit shortens the text of a tool's result to its bound, less taken bytes.
	fit func(text string, t *Tool, taken int) string
}

// connectedTool returns the present version of a tool. The error is an [ErrStale], or the error of
// its connection if that has ended. A tool of an idle server has no client yet.
func (c *calls) connectedTool(t *Tool) (*Tool, error) {
	now, err := c.current(t)
	if err != nil {
		return nil, err
	}
	if now.client != nil { // not a function
		if err := now.client.Err(); err != nil {
			return nil, &unsentError{now.callError(err)}
		}
	}
	return now, nil
}

// run runs a call whose arguments have been checked: through the interceptors, approval and the
// server. The toolset's own reader is called directly.
func (c *calls) run(ctx context.Context, s *pendingCall, opts []mcpclient.CallOption) *Result {
	t := s.tool
	r := &Result{Call: s.call, Tool: t, begun: s.round != nil || s.task != ""}
	if err := ctx.Err(); err != nil {
		return r.fail(ctx, t.callError(err))
	}
	if t.isReader() {
		r.sent = true
		res, err := t.runLocal(ctx, s.checkedArgs, t.server.policy.timeoutOptions())
		if err != nil {
			return r.fail(ctx, err)
		}
		return c.answer(r, res, nil, "")
	}
	opts = append(t.server.policy.timeoutOptions(), opts...)
	s.request = Request{Tool: t, Call: s.call, Arguments: s.checkedArgs, Options: opts}
	res, err := s.intercept(s.withContext(ctx), &s.request)
	r.sent, r.inDoubt = s.sent, s.inDoubt
	var edited json.RawMessage
	if s.edited {
		edited = s.approvedArgs
	}
	if bad, ok := errors.AsType[*mcpclient.OutputError](err); ok && ctx.Err() == nil {
		return c.answerViolation(r, err, bad, edited)
	}
	if _, ok := errors.AsType[*mcp.InputRequired](err); ok {
		r.Err, r.Text = err, waitsForInput
		return r
	}
	if err != nil {
		return r.fail(ctx, err)
	}
	return c.answer(r, res, edited, "")
}

// answer completes a result with the result of the tool, below a note. edited are the arguments that were sent if
// they differ from the model's.
func (c *calls) answer(r *Result, res *mcp.CallToolResult, edited []byte, note string) *Result {
	server := r.Tool.server
	r.Raw, r.IsError = res, res.IsError
	text, media := render(res, server.opts.maxMedia)
	if edited != nil {
		text = fmt.Sprintf("[the user changed the arguments to %s]\n%s", excerpt.Limit(string(edited), 2000), text)
	}
	r.Media = media
	full := note + text
	r.Text = shorten(note+c.fit(text, r.Tool, len(note)), server.policy.MaxResult)
	if r.Text != full {
		r.Full = full
	}
	return r
}

// answerViolation completes a result that violates the tool's output schema. As the tool did run,
// the model also gets the result.
func (c *calls) answerViolation(r *Result, err error, bad *mcpclient.OutputError, edited []byte) *Result {
	cause := error(bad) // if the validator could not tell
	if violation, ok := errors.AsType[*mcpclient.SchemaViolation](bad); ok {
		cause = violation
	}
	server, why := r.Tool.server, excerpt.Cut(cause.Error())
	server.opts.Logger.Warn("a result does not fit the output schema of its tool",
		"server", server.label, "tool", shortName(r.Tool.def), "error", why)
	note := fmt.Sprintf("Error: the tool ran, but its result does not fit the output schema that it declares: %s. "+
		"It may be wrong:\n", why)
	c.answer(r, bad.Result, edited, note)
	r.IsError, r.Err = true, err
	return r
}

// Call prepares and runs one call of a model, see [Catalog.Prepare] and [Prepared.Run]. The result is never nil.
func (c *Catalog) Call(ctx context.Context, call llms.ToolCall, opts ...mcpclient.CallOption) *Result {
	p, err := c.Prepare(call)
	if err != nil {
		return c.ErrorResult(ctx, call, err)
	}
	return p.Run(ctx, opts...)
}

// parallelism bounds the concurrent calls of a reply.
const parallelism = 8

// Dispatch runs the calls of one reply, at most 8 concurrently, and returns one message for each,
// in the order of the calls. It omits images and audio; [Catalog.Call] returns them.
//
// The error joins the fatal errors of the results ([Result.Fatal]). The messages are complete even then.
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

// runGuarded calls a function of the host. A panic becomes an error, and its stack is logged.
func runGuarded(log *slog.Logger, what string, fn func() error) error {
	err := bound.Run(what, fn)
	if p, ok := err.(*bound.PanicError); ok {
		log.Error(p.Error(), "stack", string(p.Stack))
	}
	return err
}
