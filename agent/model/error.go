package model

import "time"

// Error is a failure of a model's provider. Its text contains no credentials, and at most 1 KiB of
// the provider's text.
type Error struct {
	Kind       ErrorKind
	RetryAfter time.Duration // wait that the provider asked for; 0: none
	Retried    bool          // the model has already repeated the request as often as its options allow

	// Window is the model's context window and Prompt the length of the request, both in tokens, as
	// the provider reported them with [ErrorTooLong]; 0: unknown.
	Window, Prompt int64

	Err error // the failure itself; never nil
}

// Error is the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind is the kind of failure of an [Error]. 0 is any other kind.
type ErrorKind int

// The kinds of failures.
const (
	ErrorRateLimit   ErrorKind = iota + 1 // too many requests, or the provider is overloaded
	ErrorUnavailable                      // no connection, or a failure of the provider
	ErrorTimeout                          // no answer in time; the provider may have worked, and charge for it
	ErrorAuth                             // the key is refused, or has no quota
	ErrorNotFound                         // the provider has no such model or endpoint
	ErrorTooLong                          // the request does not fit the window
	ErrorRefused                          // the content is refused
	ErrorInvalid                          // the request is wrong, and would fail again
)
