package mcpclient

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// inLife runs f with a lifecycle whose goroutines have a second to return.
func inLife(t *testing.T, f func(t *testing.T, l *lifecycle)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newLifecycle(t.Context(), time.Second, silent)
		f(t, l)
		l.close(func() {}, func() error { return nil })
		<-l.done
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
	inLife(t, func(t *testing.T, l *lifecycle) {
		var mu sync.Mutex
		var order []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, what)
		}
		l.start(func() {
			<-l.closing
			note("closing")
			<-l.ctx.Done()
			time.Sleep(500 * time.Millisecond)
			note("ours")
		})
		l.startHost(func() {
			<-l.ctx.Done()
			time.Sleep(time.Minute)
			note("host")
		})
		broken := errors.New("broken")
		goodbye := func() {
			time.Sleep(time.Millisecond)
			if l.isOpen() || l.isClosed() || l.reason() != nil || l.cause() != ErrClosed || !l.start(func() {}) {
				t.Error("it is not closing")
			}
			note("goodbye")
		}
		l.close(goodbye, func() error {
			if !l.isClosed() || l.ctx.Err() == nil || l.reason() != ErrClosed {
				t.Error("it is not closed")
			}
			note("disconnect")
			return broken
		})
		l.close(func() { t.Error("closed twice") }, nil)
		l.fail(broken, nil)
		if err := l.wait(); err != broken {
			t.Errorf("got %v, want the error of disconnecting", err)
		}
		if closed(l.done) {
			t.Error("done before the host's code has returned")
		}
		if l.start(func() {}) || l.startHost(func() {}) {
			t.Error("a goroutine started after the end")
		}
		<-l.done
		if want := []string{"closing", "goodbye", "disconnect", "ours", "host"}; !slices.Equal(order, want) {
			t.Errorf("got %q, want %q", order, want)
		}
	})
}

// What fails has no goodbye, and is closed when fail returns.
func TestLifecycleFails(t *testing.T) {
	inLife(t, func(t *testing.T, l *lifecycle) {
		why, disconnected := errors.New("why"), make(chan struct{})
		l.fail(why, func() error { close(disconnected); return nil })
		if !l.isClosed() || l.ctx.Err() == nil || l.reason() != why || l.cause() != why || !closed(l.closing) {
			t.Errorf("got reason %v, want %v at once", l.reason(), why)
		}
		l.close(func() { t.Error("goodbye after the end") }, nil)
		<-disconnected
		<-l.done
	})
}

// A goroutine of ours that does not return holds up wait for the timeout only.
func TestLifecycleWaitIsBounded(t *testing.T) {
	inLife(t, func(t *testing.T, l *lifecycle) {
		l.start(func() { _ = l.wait() })
		l.start(func() { time.Sleep(time.Minute) })
		start := time.Now()
		l.close(func() {}, func() error { return nil })
		if _ = l.wait(); time.Since(start) != time.Second {
			t.Errorf("it took %v, want 1 s", time.Since(start))
		}
		if <-l.done; time.Since(start) != time.Minute {
			t.Errorf("done after %v, want 1 m", time.Since(start))
		}
	})
}

func TestLifecycleSleep(t *testing.T) {
	inLife(t, func(t *testing.T, l *lifecycle) {
		start := time.Now()
		if err := l.sleep(t.Context(), time.Second); err != nil || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want 1 s", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.sleep(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		time.AfterFunc(time.Second, func() {
			l.close(func() { time.Sleep(time.Minute) }, func() error { return nil })
		})
		start = time.Now()
		if err := l.sleep(t.Context(), time.Minute); err != ErrClosed || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want ErrClosed after 1 s", err, time.Since(start))
		}
	})
}
