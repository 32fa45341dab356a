package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

var silent, errClosed = slog.New(slog.DiscardHandler), errors.New("closed")

// inLife runs f with a lifecycle whose goroutines have a second to return.
func inLife(t *testing.T, f func(t *testing.T, l *Lifecycle)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := New(t.Context(), Options{Closed: errClosed, Timeout: time.Second, Log: silent})
		f(t, l)
		l.Close(func() {}, func() error { return nil })
		<-l.Done()
	})
}

func closed(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestLifecycleOrder(t *testing.T) {
	inLife(t, func(t *testing.T, l *Lifecycle) {
		notes := make(chan string, 5)
		note := func(what string) { notes <- what }
		l.Start(func() {
			<-l.Closing()
			note("closing")
			<-l.Context().Done()
			time.Sleep(500 * time.Millisecond)
			note("ours")
		})
		l.StartHost(func() {
			<-l.Context().Done()
			time.Sleep(time.Minute)
			note("host")
		})
		broken := errors.New("broken")
		goodbye := func() {
			time.Sleep(time.Millisecond)
			check.That(t, !l.IsOpen() && !l.IsClosed() && l.Reason() == nil && l.Cause() == errClosed && l.Start(func() {}),
				"it is not closing")
			note("goodbye")
		}
		l.Close(goodbye, func() error {
			check.That(t, l.IsClosed() && l.Context().Err() != nil && l.Reason() == errClosed, "it is not closed")
			note("disconnect")
			return broken
		})
		l.Close(func() { t.Error("closed twice") }, nil)
		l.Fail(broken, nil)
		check.Equal(t, "error of disconnecting", l.Wait(), broken)
		check.Equal(t, "done before the host's code has returned", closed(l.Done()), false)
		check.Equal(t, "started after the end", l.Start(func() {}) || l.StartHost(func() {}), false)
		<-l.Done()
		for _, want := range []string{"closing", "goodbye", "disconnect", "ours", "host"} {
			check.Equal(t, "next", <-notes, want)
		}
	})
}

// What fails has no goodbye, and is closed when fail returns.
func TestLifecycleFails(t *testing.T) {
	inLife(t, func(t *testing.T, l *Lifecycle) {
		why, disconnected := errors.New("why"), make(chan struct{})
		l.Fail(why, func() error { close(disconnected); return nil })
		check.That(t, l.IsClosed() && l.Context().Err() != nil && l.Reason() == why && l.Cause() == why && closed(l.Closing()),
			"got reason %v, want %v at once", l.Reason(), why)
		l.Close(func() { t.Error("goodbye after the end") }, nil)
		<-disconnected
		<-l.Done()
	})
}

// A goroutine of ours that does not return holds up wait for the timeout only.
func TestLifecycleWaitIsBounded(t *testing.T) {
	inLife(t, func(t *testing.T, l *Lifecycle) {
		l.Start(func() { _ = l.Wait() })
		l.Start(func() { time.Sleep(time.Minute) })
		start := time.Now()
		l.Close(func() {}, func() error { return nil })
		_ = l.Wait()
		check.Equal(t, "waited", time.Since(start), time.Second)
		<-l.Done()
		check.Equal(t, "done after", time.Since(start), time.Minute)
	})
}

func TestSleep(t *testing.T) {
	inLife(t, func(t *testing.T, l *Lifecycle) {
		start := time.Now()
		check.NoError(t, l.Sleep(t.Context(), time.Second))
		check.Equal(t, "slept", time.Since(start), time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		check.Is(t, l.Sleep(ctx, time.Minute), context.DeadlineExceeded)
		time.AfterFunc(time.Second, func() { l.Close(func() { time.Sleep(time.Minute) }, func() error { return nil }) })
		start = time.Now()
		check.Equal(t, "at the end", l.Sleep(t.Context(), time.Minute), errClosed)
		check.Equal(t, "slept", time.Since(start), time.Second)
	})
}
