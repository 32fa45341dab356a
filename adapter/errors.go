package adapter

import "errors"

// Reasons why a call was not sent. [Result.Err] and the errors of [Catalog.Prepare],
// [Prepared.Approve] and [Catalog.Find] match one of them, and their text has the details.
// [Catalog.Refuse] words it for the model.
var (
	ErrUnknownTool = errors.New("there is no such tool")               // the model made the name up
	ErrArguments   = errors.New("the arguments do not fit the tool")   // Unwrap has the violation, without the tool
	ErrStale       = errors.New("the tool is not what it was")         // its server changed or removed it, or several servers have it
	ErrDenied      = errors.New("the call was denied")                 // by a [approval.Decision]
	ErrUndecided   = errors.New("there is no decision about the call") // the approver failed, or returned arguments that do not fit
)
