package adapter

import "errors"

// Reasons that a call was not sent. [Result.Err] and the errors of [Catalog.Prepare],
// [Prepared.Approve] and [Catalog.LookupStored] match one of these. Their text says what is wrong,
// and [Catalog.ErrorResult] phrases it for the model.
var (
	// ErrUnknownTool means that no tool has the name that the model used.
	ErrUnknownTool = errors.New("unknown tool")

	// ErrArguments means that the arguments do not fit. The error of [Catalog.Prepare] unwraps to
	// the violation, without the name of the tool.
	ErrArguments = errors.New("arguments do not fit the tool")

	// ErrStale means that the tool of a call is no longer offered as it was: the server has
	// changed it, the server is gone, or several servers now have it.
	ErrStale = errors.New("tool is stale")

	// ErrDenied means that an [approval.Decision] denied the call.
	ErrDenied = errors.New("call was denied")

	// ErrUndecided means that Options.Approve failed, or returned arguments that do not fit.
	ErrUndecided = errors.New("no decision about the call")
)
