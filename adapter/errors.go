package adapter

import "errors"

// Why a call was not sent. [Result.Err] and what [Catalog.Prepare], [Prepared.Approve] and [Catalog.Find] return match one of
// these, and their text says what is wrong. [Catalog.Refuse] words it for the model.
var (
	ErrUnknownTool = errors.New("there is no such tool")               // the model made the name up
	ErrArguments   = errors.New("the arguments do not fit the tool")   // Unwrap is what does not fit, without the tool
	ErrStale       = errors.New("the tool is not what it was")         // its server has changed it or is gone, or several have it
	ErrDenied      = errors.New("the call was denied")                 // by a [approval.Decision]
	ErrUndecided   = errors.New("there is no decision about the call") // who approves failed, or wrote arguments that do not fit
)
