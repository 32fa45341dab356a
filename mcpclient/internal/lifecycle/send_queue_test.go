package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// So many messages are sent at the same time, each within its time, and no more than
// fit the queue. What fails is told, but not that the client is closed.
func TestSendQueue(t *testing.T) {
	inLife(t, func(t *testing.T, l *Lifecycle) {
		s := NewSendQueue(l, silent)
		start := time.Now()
		var sent, failed atomic.Int32
		const all = maxSending + maxQueue
		for i := range all + 1 {
			if i == maxSending {
				synctest.Wait() // these are being sent
			}
			s.Add(Message{
				Send: func(ctx context.Context) error {
					<-ctx.Done()
					sent.Add(1)
					return []error{nil, errClosed, fmt.Errorf("send: %w", errClosed), ctx.Err()}[i%4]
				},
				OnError: func(err error) {
					if failed.Add(1); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("got %v, want the time-out", err)
					}
				},
			})
		}
		s.Finish(time.Hour)
		if took, want := time.Since(start), SendTimeout*all/maxSending; took != want {
			t.Errorf("it took %v, want %v", took, want)
		}
		if sent, failed := sent.Load(), failed.Load(); sent != all || failed != all/4 {
			t.Errorf("got %d sent and %d failed, want %d and %d", sent, failed, all, all/4)
		}
		s.Add(Message{Send: func(context.Context) error { t.Error("sent after the last"); return nil }})
		time.Sleep(time.Second)
	})
}

// What is being sent ends with the client, and finish with its time.
func TestSendQueueEnds(t *testing.T) {
	inLife(t, func(t *testing.T, l *Lifecycle) {
		s := NewSendQueue(l, silent)
		ended := make(chan error, 1)
		s.Add(Message{
			Send:    func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			OnError: func(err error) { ended <- err },
		})
		start := time.Now()
		if s.Finish(time.Second); time.Since(start) != time.Second {
			t.Errorf("finish took %v, want 1 s", time.Since(start))
		}
		l.Close(func() {}, func() error { return nil })
		if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v, want the end of the client", err, time.Since(start))
		}
	})
}

func TestSlots(t *testing.T) {
	s := NewSlots(1)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if !s.TryAcquire() || s.TryAcquire() || s.Acquire(over, nil) {
		t.Error("want one slot and no more")
	}
	s.Release()
	if !s.Acquire(t.Context(), nil) {
		t.Error("want the slot that was released")
	}
}
