package lifecycle

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
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
					failed.Add(1)
					check.Is(t, err, context.DeadlineExceeded)
				},
			})
		}
		s.Finish(time.Hour)
		check.Equal(t, "it took", time.Since(start), SendTimeout*all/maxSending)
		check.Equal(t, "sent", sent.Load(), all)
		check.Equal(t, "failed", failed.Load(), all/4)
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
		s.Finish(time.Second)
		l.Close(func() {}, func() error { return nil })
		check.Is(t, <-ended, context.Canceled)
		check.Equal(t, "Finish and the end of the message took", time.Since(start), time.Second)
	})
}

func TestSlots(t *testing.T) {
	s := NewSlots(1)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	check.Equal(t, "slots", [3]bool{s.TryAcquire(), s.TryAcquire(), s.Acquire(over, nil)}, [3]bool{true, false, false})
	s.Release()
	check.Equal(t, "slot that was released", s.Acquire(t.Context(), nil), true)
}
