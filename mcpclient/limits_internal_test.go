package mcpclient

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/lifecycle"
)

// newLife returns a lifecycle whose goroutines have a second to return.
func newLife(t *testing.T) *lifecycle.Lifecycle {
	return lifecycle.New(t.Context(), lifecycle.Options{Closed: ErrClosed, Timeout: time.Second, Log: silent})
}

// inLife runs f with a lifecycle in a bubble.
func inLife(t *testing.T, f func(t *testing.T, l *lifecycle.Lifecycle)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLife(t)
		f(t, l)
		endLife(l)
	})
}

// endLife closes a lifecycle and waits for its goroutines.
func endLife(l *lifecycle.Lifecycle) {
	l.Close(func() {}, func() error { return nil })
	<-l.Done()
}

func TestSleep(t *testing.T) {
	inLife(t, func(t *testing.T, l *lifecycle.Lifecycle) {
		start := time.Now()
		if err := sleep(t.Context(), l, time.Second); err != nil || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want 1 s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := sleep(ctx, l, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		time.AfterFunc(time.Second, func() {
			l.Close(func() { time.Sleep(time.Minute) }, func() error { return nil })
		})
		start = time.Now()
		if err := sleep(t.Context(), l, time.Minute); err != ErrClosed || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want ErrClosed after 1 s", err, time.Since(start))
		}
	})
}
