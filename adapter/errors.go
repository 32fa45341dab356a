package adapter

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/mcpchain/mcpchain/internal/bound"
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

// runGuarded calls a function of the host. A panic becomes an error, and its stack is logged.
func runGuarded(log *slog.Logger, what string, fn func() error) error {
	err := bound.Run(what, fn)
	if p, ok := err.(*bound.PanicError); ok {
		log.Error(p.Error(), "stack", string(p.Stack))
	}
	return err
}
