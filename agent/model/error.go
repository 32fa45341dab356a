package model

import "time"

// Error is a failure of a model's host. Its text has no credentials, and at most 1 KiB of the host's.
type Error struct {
	Kind       ErrorKind
	RetryAfter time.Duration // that the host asked for; 0: none
	Repeated   bool          // the model has repeated the request already, as often as it may

	// Window is the model's window, and Prompt the length of the request, in tokens, as the host told
	// them with [ErrorTooLong]; 0: unknown.
	Window, Prompt int64

	Err error // what the host said; not nil
}

// Error is the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind is what kind of failure an [Error] is.
type ErrorKind int

// The kinds of failures.
const (
	_                ErrorKind = iota // 0: another failure
	ErrorRateLimit                    // too many requests, or the host is overloaded
	ErrorUnavailable                  // no connection, or a failure of the host
	ErrorTimeout                      // no answer in time; the host may have worked, and charge for it
	ErrorAuth                         // the key is refused, or has no quota
	ErrorNotFound                     // the host has no such model, or no such endpoint
	ErrorTooLong                      // the request does not fit the window
	ErrorRefused                      // the content is refused
	ErrorInvalid                      // the request is refused: it would fail again
)
