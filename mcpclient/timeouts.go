package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
)

// Timeouts bound how long one server can make the client wait: see [Options]. Zero means the
// default. A negative number is refused, unless the field says what it means.
type Timeouts struct {
	// Idle bounds the silence of one call: the call fails if neither the answer nor a progress
	// notification arrives in that time. Tool calls ask for progress; other requests do so only
	// with [WithProgress] or [WithIdleTimeout], which also open the standalone stream of a legacy
	// server over HTTP. Time that the client uses does not count: while handlers answer the server,
	// a person visits a URL, HTTP.Token or an oauth.Transport gets a token, or the client waits
	// before another attempt. Default 5 min, or none if Call has a limit; negative: none.
	Idle time.Duration

	// Call bounds one call as a whole, including its input rounds and its task, regardless of
	// progress, in addition to the deadline of the context. Default 24 h, or Idle if that is
	// longer; negative: none. The defaults of Idle and Call do not apply to [Task.Wait] and
	// subscriptions.
	Call time.Duration

	// Probe bounds the wait for an answer to server/discover before the server counts as legacy. As
	// in Idle, the time of a sign-in does not count. Default 5 s.
	Probe time.Duration

	// KeepAlive is how often to ping an idle server; less than 1 s becomes 1 s. If no answer
	// arrives in the same time again, the connection counts as ended. During calls only their own
	// limits apply, and over [HTTP] nothing is pinged, because every request has an exchange of
	// its own. Default, and negative: no pings.
	KeepAlive time.Duration

	// URLElicitation is how long a call that needs a person to visit a URL (error -32042 of
	// revision 2025-11-25) waits, after the person agreed, for the server to report completion.
	// Then the call is made once more. Default 5 min; negative: no wait, for handlers that wait
	// themselves (see [ElicitationDone]).
	URLElicitation time.Duration
}

const (
	defaultIdleTimeout   = 5 * time.Minute
	defaultCallTimeout   = 24 * time.Hour
	defaultProbe         = 5 * time.Second
	shortestKeepAlive    = time.Second
	defaultURLCompletion = 5 * time.Minute
)

// withDefaults sets no default of Idle and Call, which depend on the options of a call: see limitsOrDefault.
func (t Timeouts) withDefaults() Timeouts {
	t.Probe = cmp.Or(t.Probe, defaultProbe)
	if t.KeepAlive > 0 {
		t.KeepAlive = max(t.KeepAlive, shortestKeepAlive)
	} else {
		t.KeepAlive = 0
	}
	t.URLElicitation = cmp.Or(t.URLElicitation, defaultURLCompletion)
	return t
}

// WithIdleTimeout bounds the silence of this call instead of [Timeouts.Idle]; 0 or less means
// no limit. With a limit the call asks for progress, which extends it, and over HTTP in the legacy
// era also opens the standalone stream for it.
func WithIdleTimeout(d time.Duration) CallOption {
	return func(o *callOptions) {
		o.idle = limit{d, true}
		o.countsProgress = d > 0
	}
}

// WithTimeout bounds this call as a whole instead of [Timeouts.Call]; 0 or less means that only the
// context bounds it. Silence is then bounded only by [Timeouts.Idle] or [WithIdleTimeout], if set.
func WithTimeout(d time.Duration) CallOption {
	return func(o *callOptions) {
		o.whole = limit{d, true}
		o.idle.set = true // without the default
	}
}

// TimeoutOf returns the limit that [WithTimeout] sets among options, if any; 0 or less means none. It
// is for programs that make calls of their own with the same options.
func TimeoutOf(opts ...CallOption) (d time.Duration, set bool) {
	whole := callOptions{}.with(opts).whole
	return whole.Duration, whole.set
}

// limit is an optional limit of time. If it is set to 0 or less, there is none, not even the default.
type limit struct {
	time.Duration
	set bool
}

// forCall returns the options of a call that sets no limits itself.
func (t *Timeouts) forCall() callOptions {
	return callOptions{idle: limit{t.Idle, t.Idle != 0}, whole: limit{t.Call, t.Call != 0}}
}

// limits returns the limits that are set, without defaults.
func (o *callOptions) limits() bound.Limits {
	return bound.Limits{Idle: o.idle.Duration, Whole: o.whole.Duration}
}

// limitsOrDefault returns the limits of a call. If Whole has a limit, Idle has no default. The default of Whole is at least as
// long as Idle.
func (o *callOptions) limitsOrDefault() bound.Limits {
	l := o.limits()
	if !o.idle.set && l.Whole <= 0 {
		l.Idle = defaultIdleTimeout
	}
	if !o.whole.set {
		l.Whole = max(defaultCallTimeout, l.Idle)
	}
	return l
}

// within bounds ctx by the limits. bounds is nil if there are none; its Stop must be called, also on nil.
func within(ctx context.Context, l bound.Limits) (_ context.Context, bounds *bound.Context) {
	if l.None() {
		return ctx, nil
	}
	bounds = bound.Within(ctx, l)
	return bounds, bounds
}

// TimeoutError is the error of a call that exceeded a limit. It satisfies errors.Is(err,
// context.DeadlineExceeded), like the deadline of a context.
type TimeoutError struct {
	Idle  bool // the limit of silence, not of the whole call
	Limit time.Duration
}

// Error names the limit and the options that change it.
func (e *TimeoutError) Error() string {
	what, options := "no answer", "Options.Timeouts.Call or WithTimeout"
	if e.Idle {
		what, options = "neither an answer nor progress", "Options.Timeouts.Idle or WithIdleTimeout"
	}
	return fmt.Sprintf("%s within %v (%s): %v", what, e.Limit, options, context.DeadlineExceeded)
}

// Unwrap returns [context.DeadlineExceeded].
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// contextError returns the error of a call whose context ended: a [*TimeoutError] for a limit of
// the client, otherwise one that matches the context's error and names its cause.
func contextError(ctx context.Context) error {
	if expired, ok := errors.AsType[*bound.Expired](context.Cause(ctx)); ok {
		return &TimeoutError{Idle: expired.Idle, Limit: expired.Limit}
	}
	return bound.Ended(ctx)
}
