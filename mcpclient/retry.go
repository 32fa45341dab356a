package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// maxRetryWait is the longest wait that a server may request. If it asks for more, the request
// fails immediately.
const maxRetryWait = 30 * time.Second

// resender resends requests immediately, after a lost session or connection.
type resender interface {
	// awaitSession waits while a new session or connection begins. It returns the era to use, nil
	// for the one at the time of sending.
	awaitSession(ctx context.Context) (*eraBox, error)

	// resend decides about a request that failed with err after so many immediate resends:
	// whether to resend it, or the error of the call.
	resend(ctx context.Context, r *request, err error, resends int) (bool, error)
}

type noSessions struct{}

func (noSessions) awaitSession(context.Context) (*eraBox, error) { return nil, nil }

func (noSessions) resend(_ context.Context, _ *request, err error, _ int) (bool, error) {
	return false, err
}

type retries struct {
	max       int
	mayRepeat func(method string, err error) bool // reports whether to repeat a request after err
	sleep     func(ctx context.Context, d time.Duration) error
	log       *slog.Logger
}

// withRetry resends a request if that is safe: if the server had forgotten the session, and up
// to Options.Limits.Retries times after a temporary status or a lost answer.
func withRetry(next sender, p retries, sessions resender) sender {
	return func(ctx context.Context, r *request, o *callOptions) (got response, err error) {
		policy := backoff.Policy{Max: maxRetryWait, Sleep: p.sleep}
		resends := 0
		mayHaveRun := false // the server may have accepted an earlier attempt
		err = backoff.Loop(ctx, policy, func() (err error) {
			if r.sentEra, err = sessions.awaitSession(ctx); err != nil {
				return err
			}
			if r.ping && r.sentEra != nil {
				r.method = r.sentEra.pingMethod() // the era may have changed during the wait
			}
			got, err = next(ctx, r, o)
			return err
		}, func(f *backoff.Failure) error {
			again, err := sessions.resend(ctx, r, f.Err, resends)
			if again {
				resends++
				f.Count, f.Wait = f.Count-1, -1 // not counted as a retry
				return nil
			}
			f.Err = err
			if err = p.schedule(ctx, r, f); err == nil {
				mayHaveRun = mayHaveRun || !Unsent(f.Err)
			}
			return err
		})
		if interrupted, ok := err.(*backoff.Interrupted); ok {
			err = fmt.Errorf("%w, before the request was sent again: %w", interrupted.Err, interrupted.Last)
		}
		if err != nil && (mayHaveRun || r.resent) {
			err = &begunError{err}
		}
		return got, err
	}
}

// schedule returns nil if a failed request may be resent, after the wait that it sets, and
// otherwise the error of the call.
func (p *retries) schedule(ctx context.Context, r *request, f *backoff.Failure) error {
	if f.Count >= p.max || !p.mayRepeat(r.method, f.Err) {
		return f.Err
	}
	wait, ok := retryWait(ctx, f.Err, f.Count)
	if !ok {
		return f.Err
	}
	f.Wait = wait
	p.log.Debug("sending the request again", "method", r.method, "after", wait, "error", f.Err)
	return nil
}

// retryWait returns the wait after a temporary failure. failures is the number of earlier ones. ok
// is false for a permanent failure, and if the wait is longer than maxRetryWait or reaches the
// deadline of ctx.
func retryWait(ctx context.Context, err error, failures int) (wait time.Duration, ok bool) {
	wait = backoff.Policy{Max: maxRetryWait}.Delay(failures)
	spread := wait
	status, ok := errors.AsType[*transport.HTTPError](err)
	switch {
	case ok && backoff.IsTransient(status.Status) && status.Status != http.StatusNotImplemented:
		wait = max(wait, status.RetryAfter)
		spread = max(wait, backoff.Spread(status.RetryAfter))
	case ok || !wraps[*transport.BrokenError](err): // neither a temporary status nor a lost answer
		return 0, false
	}
	if wait > maxRetryWait {
		return 0, false
	}
	if end, bounded := ctx.Deadline(); bounded {
		remaining := time.Until(end)
		return min(spread, (wait+remaining)/2), remaining > wait // half of what is left beyond wait stays for the request
	}
	return spread, true
}

// repeatable reports whether a request can be sent twice without harm. It is unknown what a tool or
// a method of an extension does.
func repeatable(method string) bool {
	switch method {
	case "ping", "server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read",
		"resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete",
		"logging/setLevel", "tasks/get", "tasks/list", "tasks/result", "skills/list", "skills/get":
		return true
	}
	return false
}

func repeatableInCall(method string, _ error) bool { return repeatable(method) }

// repeatableInHandshake is repeatable for requests that also begin a session: these are only repeated if
// the server asks the client to wait.
func repeatableInHandshake(method string, err error) bool {
	if method != "initialize" && method != "server/discover" {
		return repeatable(method)
	}
	status, ok := errors.AsType[*transport.HTTPError](err)
	asksToWait := []int{http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusServiceUnavailable}
	return ok && slices.Contains(asksToWait, status.Status)
}
