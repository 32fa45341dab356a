package mcpclient

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// So many messages are sent at the same time, each within its time, and no more than
// fit the queue. What fails is told, but that the client or the session has ended.
func TestAsyncSender(t *testing.T) {
	inLife(t, func(t *testing.T, l *lifecycle) {
		s := newAsyncSender(l, silent)
		start := time.Now()
		var sent, failed atomic.Int32
		const all = maxAsyncSending + maxAsyncQueue
		for i := range all + 1 {
			if i == maxAsyncSending {
				synctest.Wait() // these are being sent
			}
			s.add(asyncMessage{
				send: func(ctx context.Context) error {
					<-ctx.Done()
					sent.Add(1)
					return []error{nil, ErrClosed, transport.ErrSessionOver, ctx.Err()}[i%4]
				},
				failed: func(err error) {
					if failed.Add(1); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("got %v, want the time-out", err)
					}
				},
			})
		}
		s.finish(time.Hour)
		if took, want := time.Since(start), asyncTimeout*all/maxAsyncSending; took != want {
			t.Errorf("it took %v, want %v", took, want)
		}
		if sent, failed := sent.Load(), failed.Load(); sent != all || failed != all/4 {
			t.Errorf("got %d sent and %d failed, want %d and %d", sent, failed, all, all/4)
		}
		s.add(asyncMessage{send: func(context.Context) error { t.Error("sent after the last"); return nil }})
		time.Sleep(time.Second)
	})
}

// What is being sent ends with the client, and finish with its time.
func TestAsyncSenderEnds(t *testing.T) {
	inLife(t, func(t *testing.T, l *lifecycle) {
		s := newAsyncSender(l, silent)
		ended := make(chan error, 1)
		s.add(asyncMessage{
			send:   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			failed: func(err error) { ended <- err },
		})
		start := time.Now()
		if s.finish(time.Second); time.Since(start) != time.Second {
			t.Errorf("finish took %v, want 1 s", time.Since(start))
		}
		l.close(func() {}, func() error { return nil })
		if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want the end of the client", err, time.Since(start))
		}
	})
}

func TestSlots(t *testing.T) {
	s := newSlots(1)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if !s.tryAcquire() || s.tryAcquire() || s.acquire(over, nil) {
		t.Error("want one slot and no more")
	}
	s.release()
	if !s.acquire(t.Context(), nil) {
		t.Error("want the slot that was released")
	}
}
