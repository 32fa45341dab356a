package adapter

import "errors"

// Reasons that a call was not sent. [Result.Err] and the errors of [Catalog.Prepare],
// [Prepared.Approve] and [Catalog.LookupStored] match one of these, unless there is no tool with the name or the call was
// denied. Their text says what is wrong, and [Catalog.ErrorResult] phrases it for the model.
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
