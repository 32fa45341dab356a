package adapter

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Result is what became of one call of a model. It always has an answer for the
// model, whatever went wrong.
type Result struct {
	// Call is the model's call.
	Call llms.ToolCall

	// Tool is the tool that was meant, nil when there is none of that name.
	Tool *Tool

	// Text is the answer for the model. It is never empty and at most
	// [Policy.MaxResult] bytes long.
	Text string

	// Full is the whole of a Text that is cut, "" if it is not: without the words of [Options.Spill].
	Full string

	// Media has the images and sounds of the answer as [llms.BinaryContent]. A
	// tool's answer cannot carry them, so they need a human message after the
	// tool's. Together they have at most
	// 8 MiB.
	Media []llms.ContentPart

	// Raw is the server's result, with structured content and _meta. It is nil
	// when the server gave none.
	Raw *mcp.CallToolResult

	// InputRequired is what the server asks before it continues with a call that was
	// made [mcpclient.WithManualInput], nil otherwise: see [Prepared.Continue]. Text
	// then says no more than that, Err is the same, and nothing is fatal.
	InputRequired *mcp.InputRequired

	// IsError says that the model is told of a failure.
	IsError bool

	// Err says why there is no Raw, or what is wrong with it: an
	// error that matches [ErrUnknownTool], [ErrArguments], [ErrStale], [ErrDenied] or [ErrUndecided], or
	// what an [Interceptor] or [mcpclient.Client.CallTool] returned.
	// A tool that ran and failed has none. A result that does not fit its output schema has an
	// [*mcpclient.OutputError].
	Err error

	fatal bool
	sent  bool // the server may have got the call
	doubt bool // it is not known what came of the call
}

// Unsent reports whether the call certainly had no effect: it failed before it was sent,
// because it was refused here, or the server could not be reached or did not take it. It
// may be made again.
func (r *Result) Unsent() bool { return r.Err != nil && !r.sent }

// Interrupted reports whether it is unknown if the tool ran: the call was sent, and the
// connection was lost, the caller's context ended, or a limit of time was reached before
// an answer came. Every other result is an outcome, good or bad.
func (r *Result) Interrupted() bool { return r.Err != nil && r.doubt }

// Fatal is Err when the model cannot do better by trying again: the connection
// is gone, the server could not be asked, or the caller's context has ended. It
// is nil for unknown and stale tools, bad arguments, denials, timeouts of single calls, and
// errors that the server answers with.
func (r *Result) Fatal() error {
	if r.fatal {
		return r.Err
	}
	return nil
}

// message is the answer as a message of the tool role. It has exactly one part,
// as providers demand, and the name of the tool, which some need.
func (r *Result) message() llms.MessageContent {
	return llms.MessageContent{
		Role: llms.ChatMessageTypeTool,
		Parts: []llms.ContentPart{llms.ToolCallResponse{
			ToolCallID: r.Call.ID,
			Name:       function(r.Call).Name,
			Content:    r.Text,
		}},
	}
}

// function is the function that a call names, empty when it names none.
func function(call llms.ToolCall) llms.FunctionCall {
	if call.FunctionCall == nil {
		return llms.FunctionCall{}
	}
	return *call.FunctionCall
}

// unknownToolError says that a model called a tool that does not exist.
type unknownToolError struct {
	name string
}

// Is makes a view be told the error, see [ViewAccess].
func (e *unknownToolError) Is(target error) bool {
	return target == ErrUnknownTool || target == apps.ErrInvalid
}

func (e *unknownToolError) Error() string {
	return fmt.Sprintf("there is no tool named %q", cut(e.name, 200))
}

// Refuse returns the result of a call that did not run because of err, an error of
// [Catalog.Prepare] or [Prepared.Approve].
func (c *Catalog) Refuse(ctx context.Context, call llms.ToolCall, err error) *Result {
	tool, ok := c.Lookup(function(call).Name)
	if !ok {
		return c.unknown(call)
	}
	return (&Result{Call: call, Tool: tool}).fail(ctx, err)
}

// unknown is the result of a call of a tool that does not exist.
func (c *Catalog) unknown(call llms.ToolCall) *Result {
	err := &unknownToolError{name: function(call).Name}
	names := make([]string, len(c.tools))
	for i, tool := range c.tools {
		names[i] = tool.name
	}
	text := "Error: " + err.Error() + ". "
	if len(names) == 0 {
		text += "There are no tools."
	} else {
		text += "The tools are: " + cut(strings.Join(names, ", "), 2000)
	}
	return &Result{Call: call, Text: shorten(text, max(c.maxResult, minResult)), IsError: true, Err: err}
}

// fail completes a result whose call did not come to a result of the server.
func (r *Result) fail(ctx context.Context, err error) *Result {
	text, fatal := failure(ctx, err, r.sent)
	r.Text, r.IsError, r.Err, r.fatal = shorten("Error: "+text, r.Tool.policy.MaxResult), true, err, fatal
	return r
}

// failure words an error for the model and reports whether it is beyond the model's
// reach. Causes that may hold addresses or output of programs stay out of the
// text.
func failure(ctx context.Context, err error, sent bool) (text string, fatal bool) {
	var argument *argumentError
	var stale *staleToolError
	var denied *deniedError
	var unasked *approvalError
	var edit *editError
	var round *roundError
	var intercepted *interceptedError
	var rpc *mcp.RPCError
	var late *mcpclient.TimeoutError
	var status *transport.HTTPError
	var signIn *mcp.SignInError
	switch {
	case ctx.Err() != nil && !sent:
		return "the call was cancelled before it was sent. Nothing was done.", true
	case ctx.Err() != nil:
		return "the call was cancelled; the tool may or may not have run", true
	case errors.As(err, &edit):
		return fmt.Sprintf("the user changed the arguments to some that do not fit: %v. Nothing was done.", edit.argumentError), true
	case errors.As(err, &unasked):
		return "no person could be asked to approve the call. Nothing was done.", true
	case errors.As(err, &argument):
		return argument.Error() + ". Nothing was done. Correct the arguments and call the tool again.", false
	case errors.As(err, &stale):
		return stale.Error() + ". Nothing was done. Go by the tools that you are offered next.", false
	case errors.As(err, &denied):
		return denied.Error() + ". Nothing was done.", false
	case errors.As(err, &round):
		return "the call cannot be continued: " + round.why + ". Nothing was done.", true
	case errors.As(err, &intercepted):
		return "the call was stopped: " + cut(intercepted.err.Error(), 1<<10), false
	case errors.Is(err, mcp.ErrRejected):
		return "the user refused what the tool asked for", false
	case errors.As(err, &rpc):
		return fmt.Sprintf("the server answered with an error: %s (code %d)", cut(rpc.Message, 1<<10), rpc.Code), false
	case errors.Is(err, errActedFirst):
		return errActedFirst.Error(), false
	case errors.Is(err, mcpclient.ErrTaskCancelled):
		return "the tool's server gave the call up; the tool may have done a part of it", false
	case errors.As(err, &late):
		return lateness(late) + "; it may still be running", false
	case errors.Is(err, context.DeadlineExceeded):
		return "the tool gave no answer in time; it may still be running", false
	case errors.Is(err, mcpclient.ErrTooManyRounds):
		return "the tool asked for more and more input and was given up", false
	case errors.Is(err, transport.ErrMessageTooLarge):
		return "the tool ran, but its result is too large to be received", false
	case errors.Is(err, mcp.ErrInvalidResult):
		return "the tool ran, but its result cannot be read", false
	case !sent && errors.As(err, &signIn):
		return "the user has to sign in at the tool's server first. Nothing was done.", true
	case !sent && errors.As(err, &status):
		return fmt.Sprintf("the tool's server refused the call (HTTP status %d). Nothing was done.", status.Status), true
	case !sent:
		return "the tool's server cannot be reached. Nothing was done.", true
	}
	return "the connection to the tool's server is lost; the tool may or may not have run", true
}

// lateness words a limit that a tool has reached.
func lateness(e *mcpclient.TimeoutError) string {
	if e.Idle {
		return fmt.Sprintf("the tool gave neither an answer nor progress within %v", e.Limit)
	}
	return fmt.Sprintf("the tool gave no answer within %v", e.Limit)
}
