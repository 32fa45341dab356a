// Package backoff repeats failed attempts, with growing waits in between.
package backoff

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Policy grows the wait from attempt to attempt. The zero value is valid.
type Policy struct {
	First time.Duration // the longest wait after the first failure; default 500 ms
	Max   time.Duration // the longest wait of all; default 30 s

	// Sleep waits in [Loop]. Default: the function Sleep.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Delay returns the wait after failure n, counted from 0: min(Max, First·2ⁿ), less a random part of
// up to half of it, so that clients that failed together do not retry together.
func (p Policy) Delay(n int) time.Duration {
	wait, longest := p.First, p.Max
	if wait <= 0 {
		wait = 500 * time.Millisecond
	}
	if longest <= 0 {
		longest = 30 * time.Second
	}
	for ; n > 0 && wait < longest; n-- {
		wait *= 2
	}
	wait = min(wait, longest)
	return wait - rand.N(wait/2+1)
}

const longestSpread = 5 * time.Second

// Spread adds a random part to the wait that a server asks for: up to half of it, at most 5 s. So
// clients with the same wait do not retry together, nor too early.
func Spread(asked time.Duration) time.Duration {
	return asked + rand.N(min(max(asked, 0)/2, longestSpread)+1)
}

// Sleep waits for d and returns nil, or ctx.Err() as soon as ctx has ended.
func Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// IsTransient reports whether an HTTP status is about the server's state rather than the request: 408, 429 and 5xx.
func IsTransient(status int) bool {
	return status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}

// RetryAfter reads the wait that a server asks for: Retry-After-Ms, or Retry-After in seconds or as
// a date. A date is compared with the server's clock (Date) if it is given, otherwise with now. The
// wait is at most 24 h. ok is false if there is no valid wait.
func RetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	if d, ok := count(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d, true
	}
	value := h.Get("Retry-After")
	if d, ok := count(value, time.Second); ok {
		return d, true
	}
	if date, err := http.ParseTime(value); err == nil {
		if sent, err := http.ParseTime(h.Get("Date")); err == nil {
			now = sent
		}
		return min(max(0, date.Sub(now)), maxAsked), true
	}
	return 0, false
}

const maxAsked = 24 * time.Hour

// count parses a number of units, bounded by maxAsked. ok is false if it is not a number of at least 0.
func count(s string, unit time.Duration) (d time.Duration, ok bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(n >= 0) { // also NaN
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(maxAsked))), true
}

type unattendedKey struct{}

// Unattended marks a context for attempts that must not ask a person, for example to sign in.
func Unattended(ctx context.Context) context.Context {
	return context.WithValue(ctx, unattendedKey{}, true)
}

// ErrUnattended is the error of an attempt that would have to ask a person.
var ErrUnattended = errors.New("nobody is asked to sign in")

// IsUnattended reports whether a context is marked.
func IsUnattended(ctx context.Context) bool { return ctx.Value(unattendedKey{}) != nil }
