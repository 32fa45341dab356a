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

func (e *staleToolError) forModel(effect string) (text string, fatal bool) {
	return e.Error() + ". " + effect + " Go by the tools that you are offered next.", false
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
	tool, _ := c.Lookup(function(call).Name)
	_, unknown := errors.AsType[*unknownToolError](err)
	switch {
	case tool != nil:
		return (&Result{Call: call, Tool: tool}).fail(ctx, err)
	case unknown:
		return c.unknownResult(call)
	}
	return (&Result{Call: call}).failWithin(ctx, err, max(c.maxResult, minResult)) // the call was prepared by another name
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
	return r.failWithin(ctx, err, r.Tool.server.policy.MaxResult)
}

// failWithin is fail with a text of at most limit bytes.
func (r *Result) failWithin(ctx context.Context, err error, limit int) *Result {
	text, fatal := r.failure(ctx, err)
	r.Text, r.IsError, r.Err, r.fatal = shorten("Error: "+text, limit), true, err, fatal
	return r
}

// modelError is an error of this package that has a text of its own for the model.
type modelError interface {
	error

	// forModel returns the text, with a sentence on the effect that the call has had, and whether the
	// model cannot correct the error.
	forModel(effect string) (text string, fatal bool)
}

// nothingDone is the effect of a call that no server or function has got.
const nothingDone = "Nothing was done."

// failure words the error of the call for the model, and reports whether the model cannot correct it. The text omits
// causes that may contain addresses or output of programs.
func (r *Result) failure(ctx context.Context, err error) (text string, fatal bool) {
	effect := nothingDone
	if r.sent || r.begun {
		effect = "The tool " + doubttext.MayHaveRun + "."
	}
	own, isOwn := errors.AsType[modelError](err)
	rpc, isRPC := errors.AsType[*mcp.RPCError](err)
	switch {
	case ctx.Err() != nil && effect == nothingDone:
		return "the call was cancelled before it was sent. " + effect, true
	case ctx.Err() != nil:
		return "the call was cancelled; the tool " + doubttext.MayHaveRun, true
	case isOwn:
		return own.forModel(effect)
	case errors.Is(err, mcp.ErrRejected):
		return "the user refused what the tool asked for", false
	case isRPC:
		return fmt.Sprintf("the server answered with an error: %s (code %d)", excerpt.Limit(rpc.Message, 1<<10), rpc.Code), false
	case !r.sent:
		return unsentText(err) + " " + effect, true
	}
	return unansweredText(err)
}

// unsentText words the error of a call that the server has not accepted.
func unsentText(err error) string {
	if _, signIn := errors.AsType[*mcp.SignInError](err); signIn {
		return "the user has to sign in at the tool's server first."
	}
	if status, ok := errors.AsType[*transport.HTTPError](err); ok {
		return fmt.Sprintf("the tool's server refused the call (HTTP status %d).", status.Status)
	}
	return "the tool's server cannot be reached."
}

// unansweredText words the error of a call that was sent and has no usable answer.
func unansweredText(err error) (text string, fatal bool) {
	late, isLate := errors.AsType[*mcpclient.TimeoutError](err)
	switch {
	case errors.Is(err, errActedFirst):
		return errActedFirst.Error(), false
	case errors.Is(err, mcpclient.ErrTaskCancelled):
		return "the tool's server gave the call up; the tool " + doubttext.PartlyDone, false
	case isLate && late.Idle:
		return fmt.Sprintf("the tool gave neither an answer nor progress within %v; it %s", late.Limit, doubttext.StillRunning), false
	case isLate:
		return fmt.Sprintf("the tool gave no answer within %v; it %s", late.Limit, doubttext.StillRunning), false
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
