package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// maxRetryWait is the longest wait that a server can ask for before a request is
// sent again. When it asks for more the request fails at once.
const maxRetryWait = 30 * time.Second

// attempt sends a request. It sends it again where that is safe: when the server
// had forgotten the session, and, up to Options.Limits.Retries times, when its
// answer was a status that passes or was lost on the way.
func (c *Client) attempt(ctx context.Context, r *request, o *callOptions) (json.RawMessage, error) {
	for retries := 0; ; {
		if err := c.session.settle(ctx); err != nil {
			return nil, err
		}
		l := c.link.Load()
		if r.session != nil && !c.isModern() && *r.session != *l.place() {
			return nil, errLostCursor
		}
		raw, err := l.roundTrip(ctx, c, r, o)
		if err == nil {
			return raw, nil
		}
		if err = c.again(ctx, r, err, &retries); err != nil {
			return nil, err
		}
	}
}

// again returns nil when a request that failed with err is to be sent again, and
// counts how often that was for a failure that passes.
func (c *Client) again(ctx context.Context, r *request, err error, retries *int) error {
	again, err := c.anew(ctx, r, err)
	if !again && *retries < c.opts.Limits.Retries {
		again, err = c.passes(ctx, r, err, *retries)
		*retries++
	}
	if again {
		return nil
	}
	return err
}

// passes waits for a failure that is expected to pass. It reports false where
// there is nothing to wait for, or something has ended the wait.
func (c *Client) passes(ctx context.Context, r *request, err error, failed int) (again bool, _ error) {
	wait, ok := passing(ctx, err, failed)
	if !ok || !repeatable(r.method) {
		return false, err
	}
	c.log.Debug("sending the request again", "method", r.method, "after", wait, "because", err)
	if over := c.sleep(ctx, wait); over != nil {
		return false, fmt.Errorf("%w, before the request was sent again: %w", over, err)
	}
	return true, nil
}

// passing is how long to wait for a failure to pass, the failed-th in a row, counted
// from 0. It is false for one that will not, or not in time.
func passing(ctx context.Context, err error, failed int) (wait time.Duration, ok bool) {
	wait = backoff.Policy{Max: maxRetryWait}.Delay(failed)
	later := wait
	status, ok := errors.AsType[*HTTPError](err)
	switch {
	case ok && status.transient() && status.Status != http.StatusNotImplemented:
		wait = max(wait, status.RetryAfter)
		later = max(wait, backoff.Spread(status.RetryAfter))
	case ok || !lost(err):
		return 0, false
	}
	if end, bounded := ctx.Deadline(); bounded {
		left := time.Until(end)
		ok, later = left > wait, min(later, (wait+left)/2)
	} else {
		ok = true
	}
	return later, ok && wait <= maxRetryWait
}

// lost reports whether an answer over HTTP was lost on the way, or not begun.
func lost(err error) bool {
	_, broken := errors.AsType[*brokenError](err)
	return broken || errors.Is(err, errLost) && !errors.Is(err, transport.ErrMessageTooLarge)
}

// greet sends the request of a handshake, and again while the server is too busy for
// it, up to Options.Limits.Retries times and as late as it asks for.
func (l *link) greet(ctx context.Context, c *Client, r *request) (json.RawMessage, error) {
	send := func(ctx context.Context, r *request, o *callOptions) (json.RawMessage, error) {
		for failed := 0; ; failed++ {
			raw, err := l.roundTrip(ctx, c, r, o)
			if !busy(err) || failed >= c.opts.Limits.Retries {
				return raw, err
			}
			wait, ok := passing(ctx, err, failed)
			if !ok {
				return nil, err
			}
			c.log.Debug("sending the request again", "method", r.method, "after", wait, "because", err)
			if over := c.sleep(ctx, wait); over != nil {
				return nil, fmt.Errorf("%w, before the request was sent again: %w", over, err)
			}
		}
	}
	if c.sending != nil {
		return c.through(ctx, r, &callOptions{}, send)
	}
	return send(ctx, r, &callOptions{})
}

// busy reports a status that says to come again later.
func busy(err error) bool {
	status, ok := errors.AsType[*HTTPError](err)
	if !ok {
		return false
	}
	switch status.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	}
	return false
}

// reply sends the answer to a request of the server, in the session that asked and
// again where the server refuses it for now: who asked waits for it.
func (l *link) reply(ctx context.Context, c *Client, body []byte, s *httpSession) error {
	for failed := 0; ; failed++ {
		err := l.post(ctx, c, body, c.current().header(nil, nil), s)
		if err == nil || failed >= c.opts.Limits.Retries {
			return err
		}
		if wait, ok := passing(ctx, err, failed); !ok || backoff.Sleep(ctx, wait) != nil {
			return err
		}
	}
}
