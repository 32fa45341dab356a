package adapter

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/doubttext"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Reasons that a call was not sent. [Result.Err] and the errors of [Catalog.Prepare],
// [Prepared.Approve] and [Catalog.LookupStored] match one of these, unless there is no tool with the name or the call was
// denied ([apps.ErrDenied]). Their text says what is wrong, and [Catalog.ErrorResult] phrases it for the model.
var (
	// ErrArguments means that the arguments do not fit. The error of [Catalog.Prepare] unwraps to
	// the violation, without the name of the tool.
	ErrArguments = errors.New("arguments do not fit the tool")

	// ErrStale means that the tool of a call is no longer offered as it was: the server has
	// changed it, the server is gone, or several servers now have it.
	ErrStale = errors.New("tool is stale")

	// ErrUndecided means that Options.Approve failed, or returned arguments that do not fit.
	ErrUndecided = errors.New("no decision about the call")
)

// Why a tool is not the one that a model was offered, for the server's label and the name of the tool.
const (
	toolChanged   = "server %q has changed the tool %s since it was offered"
	toolGone      = "server %q does not offer the tool %s any more"
	serverGone    = "server %q, which had the tool %s, was removed"
	toolAmbiguous = "there are several servers %q with the tool %s"
)

// staleToolError reports that a tool changed or went away after a model was offered it.
type staleToolError struct {
	tool   string // the model's name of the tool, or the server's if that is unknown
	server string // the host's label
	reason string
}

// Is reports whether target is [ErrStale].
func (e *staleToolError) Is(target error) bool { return target == ErrStale }

func (e *staleToolError) Error() string { return fmt.Sprintf(e.reason, e.server, e.tool) }

// Result is the outcome of one call of a model. Whatever happened, it has an answer for the model.
type Result struct {
	// Call is the model's call.
	Call llms.ToolCall

	// Tool is the tool of the call, nil if there is none with that name.
	Tool *Tool

	// Text is the answer for the model. It is never empty, and at most [Policy.MaxResult] bytes long.
	Text string

	// Full is the complete text if Text is shortened, otherwise "".
	Full string

	// Media has the images and audio of the answer as [llms.BinaryContent], at most 8 MiB together.
	// A message with a tool's answer cannot contain them: send them in a human message after it.
	Media []llms.ContentPart

	// Raw is the server's result, with structured content and _meta. It is nil if there is none.
	Raw *mcp.CallToolResult

	// InputRequired is set if the server needs input to continue a call made with [mcpclient.WithManualInput]: see
	// [Prepared.Continue]. Text then says so, Err is the same value, and the error is not fatal.
	InputRequired *mcp.InputRequired

	// IsError reports whether Text tells the model of a failure.
	IsError bool

	// Err says why Raw is nil, or what is wrong with it: there is no such tool, the call was denied, an error that
	// matches [ErrArguments], [ErrStale] or [ErrUndecided], or one of an [Interceptor] or of
	// [mcpclient.Client.CallTool]. It is nil if the tool ran and failed. For a result that violates the output schema
	// it is an [*mcpclient.OutputError].
	Err error

	fatal   bool
	sent    bool // the server may have received the call
	inDoubt bool // the outcome of the call is unknown
}

// Unsent reports whether the call certainly had no effect: it was refused here, or the server
// could not be reached or did not accept it. It may be made again.
func (r *Result) Unsent() bool { return r.Err != nil && !r.sent }

// Interrupted reports whether it is unknown if the tool ran: the call was sent, but the
// connection was lost, the context ended or a timeout expired before the answer came.
func (r *Result) Interrupted() bool { return r.Err != nil && r.inDoubt }

// Fatal returns Err if the model cannot do better by trying again: the connection is lost, the
// server cannot be reached or requires a sign-in, no decision was made ([ErrUndecided]), or the
// context has ended. It returns nil for unknown and stale tools, invalid arguments, denials,
// timeouts of single calls, and errors of an [Interceptor] or from the server.
func (r *Result) Fatal() error {
	if r.fatal {
		return r.Err
	}
	return nil
}

// message returns the answer as a message of the tool role. It has exactly one part, as
// providers require, and the name of the tool, which some need.
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

// function returns the function of a call, or an empty one.
func function(call llms.ToolCall) llms.FunctionCall {
	if call.FunctionCall == nil {
		return llms.FunctionCall{}
	}
	return *call.FunctionCall
}

// unknownToolError is the error of a call of a tool that does not exist.
type unknownToolError struct {
	name string
}

// Is lets a view learn the error, see [Toolset.ViewAccess].
func (e *unknownToolError) Is(target error) bool { return target == apps.ErrInvalid }

func (e *unknownToolError) Error() string {
	return fmt.Sprintf("there is no tool named %q", excerpt.Limit(e.name, 200))
}

// ErrorResult returns the result of a call that did not run because of err, an error of
// [Catalog.Prepare] or [Prepared.Approve].
func (c *Catalog) ErrorResult(ctx context.Context, call llms.ToolCall, err error) *Result {
	tool, ok := c.Lookup(function(call).Name)
	if !ok {
		return c.unknownResult(call)
	}
	return (&Result{Call: call, Tool: tool}).fail(ctx, err)
}

// unknownResult returns the result of a call of a tool that does not exist.
func (c *Catalog) unknownResult(call llms.ToolCall) *Result {
	err := &unknownToolError{name: function(call).Name}
	names := make([]string, len(c.tools))
	for i, tool := range c.tools {
		names[i] = tool.name
	}
	text := "Error: " + err.Error() + ". "
	if len(names) == 0 {
		text += "There are no tools."
	} else {
		text += "The tools are: " + excerpt.Limit(strings.Join(names, ", "), 2000)
	}
	return &Result{Call: call, Text: shorten(text, max(c.maxResult, minResult)), IsError: true, Err: err}
}

// fail completes the result of a call to which the server returned none.
func (r *Result) fail(ctx context.Context, err error) *Result {
	text, fatal := failure(ctx, err, r.sent)
	r.Text, r.IsError, r.Err, r.fatal = shorten("Error: "+text, r.Tool.server.policy.MaxResult), true, err, fatal
	return r
}

// failure words an error for the model and reports whether the model cannot correct it. The
// text omits causes that may contain addresses or output of programs.
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
		return "the call was cancelled; the tool " + doubttext.MayHaveRun, true
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
		return "the call was stopped: " + excerpt.Limit(intercepted.err.Error(), 1<<10), false
	case errors.Is(err, mcp.ErrRejected):
		return "the user refused what the tool asked for", false
	case errors.As(err, &rpc):
		return fmt.Sprintf("the server answered with an error: %s (code %d)", excerpt.Limit(rpc.Message, 1<<10), rpc.Code), false
	case !sent && errors.As(err, &signIn):
		return "the user has to sign in at the tool's server first. Nothing was done.", true
	case !sent && errors.As(err, &status):
		return fmt.Sprintf("the tool's server refused the call (HTTP status %d). Nothing was done.", status.Status), true
	case !sent:
		return "the tool's server cannot be reached. Nothing was done.", true
	case errors.Is(err, errActedFirst):
		return errActedFirst.Error(), false
	case errors.Is(err, mcpclient.ErrTaskCancelled):
		return "the tool's server gave the call up; the tool " + doubttext.PartlyDone, false
	case errors.As(err, &late):
		return timeoutText(late) + "; it " + doubttext.StillRunning, false
	case errors.Is(err, context.DeadlineExceeded):
		return "the tool gave no answer in time; it " + doubttext.StillRunning, false
	case errors.Is(err, mcpclient.ErrTooManyRounds):
		return "the tool asked for more and more input and was given up", false
	case errors.Is(err, transport.ErrMessageTooLarge):
		return "the tool ran, but its result is too large to be received", false
	case errors.Is(err, mcp.ErrInvalidResult):
		return "the tool ran, but its result cannot be read", false
	}
	return "the connection to the tool's server is lost; the tool " + doubttext.MayHaveRun, true
}

// timeoutText describes the timeout of a tool.
func timeoutText(e *mcpclient.TimeoutError) string {
	if e.Idle {
		return fmt.Sprintf("the tool gave neither an answer nor progress within %v", e.Limit)
	}
	return fmt.Sprintf("the tool gave no answer within %v", e.Limit)
}

// minResult is the least bound of a result's text, in bytes. It leaves room to say what was cut.
const minResult = 256

// shorten cuts text to limit bytes, see [excerpt.Shorten].
func shorten(text string, limit int) string { return excerpt.Shorten(text, limit, nil) }
