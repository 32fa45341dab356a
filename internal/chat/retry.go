package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
)

// maxLoading bounds the sum of the waits for a host that loads the model.
const maxLoading = 2 * time.Minute

// Why the context of an attempt ended.
var (
	errTimeout = errors.New("no complete answer in time")
	errIdle    = errors.New("the stream fell silent")
)

// retrier counts the attempts of one request.
type retrier struct {
	client  *Client
	failed  int           // attempts
	loading time.Duration // spent on waits for a host that loads the model
}

// wait waits before another attempt. It returns an error if there must not be one: the failure, or that of the context.
func (r *retrier) wait(ctx context.Context, failure *Error) error {
	c := r.client
	if c.retries == 0 || !failure.Retryable() || failure.RetryAfter > c.backoff.Max {
		return failure
	}
	wait := backoff.Spread(failure.RetryAfter)
	if wait == 0 {
		wait = c.backoff.Delay(r.failed)
	}
	if failure.loading() {
		r.loading += wait
	}
	if r.failed >= c.retries && (!failure.loading() || r.loading > maxLoading) {
		return failure
	}
	r.failed++
	if c.retrying != nil {
		c.retrying(failure, wait)
	}
	if err := backoff.Sleep(ctx, wait); err != nil {
		return fmt.Errorf("%s: %w while waiting to repeat it after: %v", cmp.Or(failure.api, "chat completion"), err, failure)
	}
	return nil
}
