package mcpclient

import (
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

// WithIdleTimeout bounds the silence of this call instead of [Options.IdleTimeout]; 0
// or less is no bound. Progress, which extends it, is asked for whatever the call is,
// and over HTTP in the legacy era on the standalone stream, too.
func WithIdleTimeout(d time.Duration) CallOption {
	return func(o *callOptions) { o.idle, o.heed = limit{d, true}, d > 0 }
}

// WithTimeout bounds this call as a whole instead of [Options.CallTimeout]; 0 or less
// is no bound but that of the context. Then silence is bounded only where
// [Options.IdleTimeout] or [WithIdleTimeout] says so.
func WithTimeout(d time.Duration) CallOption {
	return func(o *callOptions) { o.whole = limit{d, true} }
}

// PauseIdleTimeout has the silence of the call that ctx is of not count until resume
// is called: for a [Middleware] or an [http.RoundTripper] in which a person is asked.
// Handlers and HTTP.Unauthorized need not call it.
func PauseIdleTimeout(ctx context.Context) (resume func()) { return idle.From(ctx).Hold() }

// limit is a bound, and whether it is set: one that is and is not positive is none.
type limit struct {
	time.Duration
	set bool
}

// limited are the options of a call that sets no limits of its own.
func (t terms) limited() callOptions {
	return callOptions{idle: limit{t.idleTimeout, t.idleTimeout != 0}, whole: limit{t.callTimeout, t.callTimeout != 0}}
}

// limits are those that were set.
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
	what, setBy := "no answer", "Options.CallTimeout or WithTimeout"
	if e.Idle {
		what, setBy = "neither an answer nor progress", "Options.IdleTimeout or WithIdleTimeout"
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
