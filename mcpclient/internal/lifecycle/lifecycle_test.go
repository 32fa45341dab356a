package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
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
		l := New(t.Context(), Options{Closed: errClosed, Ended: context.Cause, Timeout: time.Second, Log: silent})
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

// Callbacks run in their order. Beyond the bounds the oldest is dropped, a panic ends no
// other, and what waits when the client closes is not run.
func TestCallbackQueue(t *testing.T) {
	const maxBytes = 1 << 20
	for name, test := range map[string]struct {
		limit, size int
		close       bool
		want        []int
	}{
		"all":          {limit: 5, want: []int{0, 1, 2, 3, 4}},
		"too many":     {limit: 2, want: []int{0, 3, 4}},
		"too large":    {limit: 5, size: maxBytes / 3, want: []int{0, 2, 3, 4}},
		"one is kept":  {limit: 5, size: 2 * maxBytes, want: []int{0, 4}},
		"closed early": {limit: 5, close: true, want: []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			inLife(t, func(t *testing.T, l *Lifecycle) {
				q := NewCallbackQueue(l, test.limit, maxBytes, silent)
				var got []int
				for i := range 5 {
					q.Add(func() {
						got = append(got, i)
						time.Sleep(time.Second)
						if i%2 == 1 {
							runtime.Goexit() // as t.FailNow does
						}
						panic("oops")
					}, test.size)
					if i == 0 {
						time.Sleep(time.Millisecond) // it runs
					}
				}
				if !test.close {
					time.Sleep(time.Minute)
				}
				l.Close(func() {}, func() error { return nil })
				<-l.Done()
				q.Add(func() { t.Error("run after the end") }, 1)
				check.Same(t, "", got, test.want)
				check.That(t, len(q.queue) == 0 && q.bytes == 0, "got %d waiting callbacks, %d bytes, after the end", len(q.queue), q.bytes)
			})
		})
	}
}

// A drop is reported at the first and when nothing waits any more.
func TestDropCount(t *testing.T) {
	d := dropCount{count: 1}
	got := []int{d.report(false)}
	d.count = 5
	got = append(got, d.report(false), d.report(true), d.report(true))
	d.count = 2
	check.Same(t, "", append(got, d.report(false)), []int{1, 0, 5, 0, 2})
}

// So many messages are sent at the same time, each within its time, and no more than
// fit the queue. What fails is told, but not that the client is closed. A sender that ends its
// goroutine ends no other, and a second Finish changes nothing.
func TestSendQueue(t *testing.T) {
	inLife(t, func(t *testing.T, l *Lifecycle) {
		s, start := NewSendQueue(l, silent), time.Now()
		var sent, failed atomic.Int32
		const all = maxSending + maxQueue
		for i := range all + 1 {
			if i == maxSending {
				synctest.Wait() // these are being sent
			}
			s.Send(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				if sent.Add(1); i%4 == 0 {
					runtime.Goexit()
				}
				return []error{nil, errClosed, fmt.Errorf("send: %w", errClosed), ctx.Err()}[i%4]
			}, func(err error) {
				failed.Add(1)
				check.Is(t, err, context.DeadlineExceeded)
			})
		}
		time.AfterFunc(time.Second, func() { s.Finish(time.Hour) })
		s.Finish(time.Hour)
		check.Equal(t, "it took", time.Since(start), SendTimeout*all/maxSending)
		check.Equal(t, "sent", sent.Load(), all)
		check.Equal(t, "failed", failed.Load(), all/4)
		s.Add(func() { t.Error("sent after the last") }, 0)
		time.Sleep(time.Second)
	})
}

// What is being sent ends with the client, and finish with its time. What is added later is dropped.
func TestSendQueueEnds(t *testing.T) {
	inLife(t, func(t *testing.T, l *Lifecycle) {
		s, ended, start := NewSendQueue(l, silent), make(chan error, 1), time.Now()
		s.Send(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, func(err error) { ended <- err })
		s.Finish(time.Second)
		l.Close(func() {}, func() error { return nil })
		check.Is(t, <-ended, context.Canceled)
		check.Equal(t, "Finish and the end of the message took", time.Since(start), time.Second)
		<-l.Done()
		unfinished := NewSendQueue(l, silent)
		unfinished.Add(func() {}, 0)
		check.Equal(t, "messages that wait after the end", len(unfinished.queue), 0)
	})
}

func TestSlots(t *testing.T) {
	s := make(Slots, 1)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	check.Equal(t, "slots", [3]bool{s.TryAcquire(), s.TryAcquire(), s.Acquire(over, nil)}, [3]bool{true, false, false})
	s.Release()
	check.Equal(t, "slot that was released", s.Acquire(t.Context(), nil), true)
}
