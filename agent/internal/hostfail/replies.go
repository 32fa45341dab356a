package hostfail

import (
	"errors"
	"iter"
	"time"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// errStopped ends a request whose caller has stopped the iteration.
var errStopped = errors.New("caller has stopped the iteration")

// Replies yields the deltas that ask shows, and then its reply, or its error converted by failure.
func Replies(ask func(show func(model.Delta) error) (*model.Response, error), failure func(error) error) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		stopped := false
		reply, err := ask(func(d model.Delta) error {
			if stopped = stopped || !yield(d, nil); stopped {
				return errStopped
			}
			return nil
		})
		switch {
		case stopped:
		case err != nil:
			yield(model.Delta{}, failure(err))
		default:
			yield(model.Delta{Response: reply}, nil)
		}
	}
}

// Error returns a failure of the host as one of a model.
func Error(kind model.ErrorKind, e *chat.Error) *model.Error {
	return &model.Error{
		Kind:       kind,
		RetryAfter: e.RetryAfter,
		Retried:    e.Retryable() && !e.Begun,
		Window:     e.Window,
		Prompt:     e.Prompt,
		Err:        e,
	}
}

// Retrying returns a function that is called before a wait, with failures converted by failure.
func Retrying(retrying func(error, time.Duration), failure func(error) error) func(error, time.Duration) {
	if retrying == nil {
		return nil
	}
	return func(err error, wait time.Duration) { retrying(failure(err), wait) }
}
