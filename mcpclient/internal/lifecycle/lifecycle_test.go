package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	silent    = slog.New(slog.DiscardHandler)
	errClosed = errors.New("closed")
)

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

// closed reports whether a channel is.
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
		var mu sync.Mutex
		var order []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, what)
		}
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
			if l.IsOpen() || l.IsClosed() || l.Reason() != nil || l.Cause() != errClosed || !l.Start(func() {}) {
				t.Error("it is not closing")
			}
			note("goodbye")
		}
		l.Close(goodbye, func() error {
			if !l.IsClosed() || l.Context().Err() == nil || l.Reason() != errClosed {
				t.Error("it is not closed")
			}
			note("disconnect")
			return broken
		})
		l.Close(func() { t.Error("closed twice") }, nil)
		l.Fail(broken, nil)
		if err := l.Wait(); err != broken {
			t.Errorf("got %v, want the error of disconnecting", err)
		}
		if closed(l.Done()) {
			t.Error("done before the host's code has returned")
		}
		if l.Start(func() {}) || l.StartHost(func() {}) {
			t.Error("a goroutine started after the end")
		}
		<-l.Done()
		if want := []string{"closing", "goodbye", "disconnect", "ours", "host"}; !slices.Equal(order, want) {
			t.Errorf("got %q, want %q", order, want)
		}
	})
}

// What fails has no goodbye, and is closed when fail returns.
func TestLifecycleFails(t *testing.T) {
	inLife(t, func(t *testing.T, l *Lifecycle) {
		why, disconnected := errors.New("why"), make(chan struct{})
		l.Fail(why, func() error { close(disconnected); return nil })
		if !l.IsClosed() || l.Context().Err() == nil || l.Reason() != why || l.Cause() != why || !closed(l.Closing()) {
			t.Errorf("got reason %v, want %v at once", l.Reason(), why)
		}
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
		if _ = l.Wait(); time.Since(start) != time.Second {
			t.Errorf("it took %v, want 1 s", time.Since(start))
		}
		if <-l.Done(); time.Since(start) != time.Minute {
			t.Errorf("done after %v, want 1 m", time.Since(start))
		}
	})
}

// A state without goroutines closes on the caller's, and one that gets a goroutine meanwhile is bounded as always.
func TestLifecycleClosesAlone(t *testing.T) {
	inLife(t, func(t *testing.T, l *Lifecycle) {
		why := errors.New("broken")
		if err := l.CloseAndWait(func() {}, func() error { return why }); err != why || !closed(l.Done()) || l.Reason() != errClosed {
			t.Errorf("got %v, and the reason %v", err, l.Reason())
		}
		if l.Start(func() {}) {
			t.Error("a goroutine was started after the end")
		}
	})
	inLife(t, func(t *testing.T, l *Lifecycle) {
		start := time.Now()
		goodbye := func() { l.Start(func() { time.Sleep(time.Minute) }) }
		if err := l.CloseAndWait(goodbye, func() error { return nil }); err != nil || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want 1 s", err, time.Since(start))
		}
		<-l.Done()
	})
	inLife(t, func(t *testing.T, l *Lifecycle) {
		start := time.Now()
		goodbye := func() { l.StartHost(func() { time.Sleep(time.Minute) }) }
		if err := l.CloseAndWait(goodbye, func() error { return nil }); err != nil || time.Since(start) != 0 || closed(l.Done()) {
			t.Errorf("got %v after %v, want no wait for the host's", err, time.Since(start))
		}
		<-l.Done()
	})
}

func TestSleep(t *testing.T) {
	inLife(t, func(t *testing.T, l *Lifecycle) {
		start := time.Now()
		if err := l.Sleep(t.Context(), time.Second); err != nil || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want 1 s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		time.AfterFunc(time.Second, func() {
			l.Close(func() { time.Sleep(time.Minute) }, func() error { return nil })
		})
		start = time.Now()
		if err := l.Sleep(t.Context(), time.Minute); err != errClosed || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want errClosed after 1 s", err, time.Since(start))
		}
	})
}
