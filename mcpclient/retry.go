package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
	"github.com/mcpchain/mcpchain/mcpclient/transport/streamable"
)

// maxRetryWait is the longest wait that a server can ask for before a request is
// sent again. When it asks for more the request fails at once.
const maxRetryWait = 30 * time.Second

// resender sends requests again for a reason that needs no wait.
type resender interface {
	// settle waits while a new session or connection begins.
	settle(ctx context.Context) error

	// resend is called for a request that failed with err and was sent again so often
	// at once. It reports whether to do that once more, or else the error of the call.
	resend(ctx context.Context, r *request, err error, resends int) (bool, error)
}

// noSessions is the resender of what a renewal sends.
type noSessions struct{}

func (noSessions) settle(context.Context) error { return nil }

func (noSessions) resend(_ context.Context, _ *request, err error, _ int) (bool, error) {
	return false, err
}

// retries say when a request is sent again after a failure that is expected to pass.
type retries struct {
	max   int
	safe  func(method string, err error) bool // the request does no harm if it was made already
	sleep func(ctx context.Context, d time.Duration) error
	log   *slog.Logger
}

// retries are those that Options.Limits.Retries allows for requests that are safe.
func (c *Client) retries(safe func(method string, err error) bool) retries {
	return retries{max: c.opts.Limits.Retries, safe: safe, sleep: c.life.sleep, log: c.log}
}

// withRetry sends a request again if that is safe: when the server had forgotten the
// session, and, up to Options.Limits.Retries times, when its answer was a status that
// passes or was lost on the way.
func withRetry(next sender, p retries, sessions resender) sender {
	policy := backoff.Policy{Max: maxRetryWait, Sleep: p.sleep}
	return func(ctx context.Context, r *request, o *callOptions) (got response, err error) {
		resends := 0
		err = backoff.Loop(ctx, policy, func() (err error) {
			if err = sessions.settle(ctx); err == nil {
				got, err = next(ctx, r, o)
			}
			return err
		}, func(f *backoff.Failure) error {
			again, err := sessions.resend(ctx, r, f.Err, resends)
			if again {
				resends++
				f.Count, f.Wait = f.Count-1, -1 // it is none of the retries
				return nil
			}
			f.Err = err
			return p.again(ctx, r, f)
		})
		if over, ok := err.(*backoff.Interrupted); ok {
			err = fmt.Errorf("%w, before the request was sent again: %w", over.Err, over.Last)
		}
		return got, err
	}
}

// again returns nil if a request that failed is to be sent again after a wait.
func (p *retries) again(ctx context.Context, r *request, f *backoff.Failure) error {
	if f.Count >= p.max || !p.safe(r.method, f.Err) {
		return f.Err
	}
	wait, ok := passing(ctx, f.Err, f.Count)
	if !ok {
		return f.Err
	}
	f.Wait = wait
	p.log.Debug("sending the request again", "method", r.method, "after", wait, "because", f.Err)
	return nil
}

// passing is how long to wait for a failure to pass, the failed-th in a row, counted
// from 0. It is false for one that will not, or not in time.
func passing(ctx context.Context, err error, failed int) (wait time.Duration, ok bool) {
	wait = backoff.Policy{Max: maxRetryWait}.Delay(failed)
	later := wait
	status, ok := errors.AsType[*streamable.HTTPError](err)
	switch {
	case ok && status.Transient() && status.Status != http.StatusNotImplemented:
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
	_, broken := errors.AsType[*transport.BrokenError](err)
	return broken
}

// safe reports whether a request of a call may be sent again.
func safe(method string, _ error) bool { return repeatable(method) }

// repeatableInHandshake reports whether what a renewal sends may be sent again.
func repeatableInHandshake(method string, err error) bool {
	switch method {
	case "initialize", "server/discover":
		return busy(err)
	}
	return repeatable(method)
}

// busy reports a status that says to come again later.
func busy(err error) bool {
	status, ok := errors.AsType[*streamable.HTTPError](err)
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
func (l *link) reply(ctx context.Context, body []byte, s transport.Session) error {
	err := backoff.Loop(ctx, backoff.Policy{}, func() error {
		return l.post(ctx, body, l.client.current().header(nil, nil), s)
	}, func(f *backoff.Failure) error {
		wait, ok := passing(ctx, f.Err, f.Count)
		if f.Count >= l.retries || !ok {
			return f.Err
		}
		f.Wait = wait
		return nil
	})
	if over, ok := err.(*backoff.Interrupted); ok {
		return over.Last
	}
	return err
}
