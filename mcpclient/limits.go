package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/idle"
)

const (
	defaultIdleTimeout = 5 * time.Minute
	defaultCallTimeout = 24 * time.Hour
)

// Limits bound what one server can take up: see [Options]. Zero is the default.
type Limits struct {
	// Retries bounds how often a request is sent again after an HTTP status
	// that passes (408, 429, 5xx but 501), when its connection failed before the
	// response began, or when that broke off and could not be resumed, with growing
	// waits of 0.25 s to 30 s, or as long as the server asks for in Retry-After, if
	// that is not over 30 s, and up to half as long again, 5 s at most, so that clients
	// do not come back together. One that finds an idle connection closed is sent on
	// another by net/http itself. Tool calls and custom requests are never sent
	// again, initialize and server/discover after 408, 429 and 503 only. It also bounds
	// how often the answer to a request of the server is. Default 3; negative: none.
	Retries int

	// ServerRequests bounds the server's requests that are answered at the
	// same time; more are refused with code -32603. Default 16.
	ServerRequests int

	// Notifications bounds the notifications that wait for OnNotification,
	// and the progress notices that wait for one call. Default 1,024.
	Notifications int

	// Rounds bounds the rounds of one call in which the server asks for input.
	// Default 10. A server that only puts a call off has a bound of its own: see
	// [ErrDeferred].
	Rounds int

	// Pages bounds the pages of one list. Default 1,000.
	Pages int

	// Cache bounds the memory, in bytes, of the lists and resources that are
	// kept for as long as a modern server said: each page and each resource for
	// its own time, and no longer than until the server notifies of a change.
	// Calls do without by [WithoutCache]. Default 4 MiB; negative keeps nothing.
	Cache int
}

// Timeouts bound what one server can make wait: see [Options]. Zero is the default.
type Timeouts struct {
	// Idle bounds the silence of one call: it ends if neither an answer nor a
	// progress notice came for as long. Tool calls ask for progress; other requests do
	// [WithProgress] or [WithIdleTimeout], which also open the standalone stream of a
	// legacy server over HTTP for it. What is the client's to do does not count:
	// the time in which handlers answer the server, a person visits a URL, HTTP.Token
	// runs, or the client waits before it asks again. Default 5 min, or none if
	// Call is set; negative: none.
	Idle time.Duration

	// Call bounds one call as a whole, its input rounds and its task included,
	// whatever progress it makes, in addition to the context's own deadline. Default 24 h,
	// or Idle if that is longer; negative: none. Neither default bounds
	// [Task.Wait], nor a subscription.
	Call time.Duration

	// Probe bounds the wait for an answer to server/discover before the
	// server counts as legacy. Default 5 s.
	Probe time.Duration

	// Close bounds what [Client.Close] does politely: it sends what is queued and ends the
	// session. It bounds once more the wait for hooks of the transport. Transports add
	// their own bound. Default 5 s.
	Close time.Duration

	// KeepAlive is how often an idle server is asked for a sign of life, as by
	// [Client.Ping], at most once a second. A connection over which none comes for
	// as long again counts as ended. While calls are under way only their own
	// limits count, and over [HTTP] nothing is asked: every request has an exchange
	// of its own there. Default 0: nothing is asked.
	KeepAlive time.Duration

	// SubscriptionIdle bounds the silence of a subscription's stream over HTTP, in
	// the modern era: when nothing came for as long, not even a comment that keeps
	// it alive, it counts as broken and is opened again. Each time readers get
	// [mcp.Stale]. Default 5 min; negative: no bound.
	SubscriptionIdle time.Duration

	// ElicitationDone is how long a call that needed a person to visit a URL
	// (error -32042 of revision 2025-11-25) waits for the server's word that
	// this is done, after the person agreed. Then the call is made once more.
	// Default 5 min; negative does not wait, for handlers that do so themselves
	// (see [ElicitationDone]).
	ElicitationDone time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Retries = cmp.Or(l.Retries, 3)
	l.ServerRequests = cmp.Or(max(l.ServerRequests, 0), 16)
	l.Notifications = cmp.Or(max(l.Notifications, 0), 1024)
	l.Rounds = cmp.Or(max(l.Rounds, 0), 10)
	l.Pages = cmp.Or(max(l.Pages, 0), 1000)
	l.Cache = cmp.Or(l.Cache, 4<<20)
	return l
}

// withDefaults leaves Idle and Call: their defaults depend on the call.
func (t Timeouts) withDefaults() Timeouts {
	t.Probe = cmp.Or(max(t.Probe, 0), 5*time.Second)
	t.Close = cmp.Or(max(t.Close, 0), 5*time.Second)
	if t.KeepAlive = max(t.KeepAlive, 0); t.KeepAlive > 0 {
		t.KeepAlive = max(t.KeepAlive, shortestKeepAlive)
	}
	t.SubscriptionIdle = cmp.Or(t.SubscriptionIdle, 5*time.Minute)
	t.ElicitationDone = cmp.Or(t.ElicitationDone, defaultDoneWait)
	return t
}

// WithIdleTimeout bounds the silence of this call instead of [Timeouts.Idle]; 0
// or less means no bound. Progress, which extends it, is asked for whatever the call is,
// and over HTTP in the legacy era on the standalone stream, too.
func WithIdleTimeout(d time.Duration) CallOption {
	return func(o *callOptions) { o.idle, o.heed = limit{d, true}, d > 0 }
}

// WithTimeout bounds this call as a whole instead of [Timeouts.Call]; 0 or less
// means that only the context bounds the call. Then silence is bounded only where
// [Timeouts.Idle] or [WithIdleTimeout] says so.
func WithTimeout(d time.Duration) CallOption {
	return func(o *callOptions) { o.whole = limit{d, true} }
}

// TimeoutOf is the bound that [WithTimeout] sets among options, and whether it is there: for
// programs that make calls of their own by the same options.
func TimeoutOf(opts ...CallOption) (d time.Duration, set bool) {
	whole := callOptions{}.with(opts).whole
	return whole.Duration, whole.set
}

// limit is a bound, and whether it is set. A bound that is set and not positive means none.
type limit struct {
	time.Duration
	set bool
}

// forCall is the options of a call that sets no limits of its own.
func (t *Timeouts) forCall() callOptions {
	return callOptions{idle: limit{t.Idle, t.Idle != 0}, whole: limit{t.Call, t.Call != 0}}
}

// limits are the limits that were set.
func (o *callOptions) limits() idle.Limits {
	return idle.Limits{Idle: o.idle.Duration, Whole: o.whole.Duration}
}

// limitsOrDefault are the limits of a call: who sets one is not stopped earlier by the
// default of the other.
func (o *callOptions) limitsOrDefault() idle.Limits {
	l := o.limits()
	switch {
	case o.whole.set:
	case o.idle.set:
		l.Whole = max(defaultCallTimeout, l.Idle)
	default:
		l.Idle, l.Whole = defaultIdleTimeout, defaultCallTimeout
	}
	return l
}

// within bounds ctx by the limits; bounds is nil if there are none. Its Stop has to
// be called.
func within(ctx context.Context, l idle.Limits) (_ context.Context, bounds *idle.Context) {
	if l.None() {
		return ctx, nil
	}
	bounds = idle.Within(ctx, l)
	return bounds, bounds
}

// TimeoutError says which limit ended a call. It satisfies
// errors.Is(err, context.DeadlineExceeded), as a context's own deadline does.
type TimeoutError struct {
	Idle  bool // that of silence, or else that of the whole
	Limit time.Duration
}

// Error names the limit, and the options that set it.
func (e *TimeoutError) Error() string {
	what, setBy := "no answer", "Options.Timeouts.Call or WithTimeout"
	if e.Idle {
		what, setBy = "neither an answer nor progress", "Options.Timeouts.Idle or WithIdleTimeout"
	}
	return fmt.Sprintf("%s within %v (%s): %v", what, e.Limit, setBy, context.DeadlineExceeded)
}

// Unwrap returns [context.DeadlineExceeded].
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// ended is the error of a call whose context ended.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if limit, ok := errors.AsType[*idle.Expired](cause); ok {
		return &TimeoutError{Idle: limit.Idle, Limit: limit.Limit}
	}
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%v: %w", cause, err)
}
