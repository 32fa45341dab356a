package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// Recover goes on with a run whose process has ended once its lease is over, and with one
// that waits once its answer is there.
func TestRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := run.NewMemory()
		ctx, kill := context.WithTimeout(t.Context(), time.Second)
		defer kill()
		first, _ := process(t, store, play(uses(sleep("1", 60))), agent.Options{})
		if _, err := first.Run(ctx, human("go"), agent.In("killed")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if _, err := store.Acquire(t.Context(), run.Key{ID: "killed"}, run.Holder{Name: "dead", TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		asking, _ := process(t, store, play(uses(toolCall("1", "ask", "{}"))), agent.Options{})
		waiting, err := asking.Run(t.Context(), human("go"), agent.In("waiting"))
		if err != nil {
			t.Fatal(err)
		}

		second, _ := process(t, store, play(says("done")), agent.Options{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- agent.Recover(ctx, store, []*agent.Agent{second}, nil) }()
		status := func(id string) run.Status {
			log, err := store.Load(t.Context(), run.Key{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			return log.Head.Status
		}
		time.Sleep(30 * time.Second)
		if a, b := status("killed"), status("waiting"); a != run.Running || b != run.Waiting {
			t.Errorf("got %s and %s, want both to wait", a, b)
		}
		answer, err := waiting.Asks[0].Accept(map[string]any{"name": "Ann"})
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Answer(t.Context(), run.Key{ID: "waiting"}, answer); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if a, b := status("killed"), status("waiting"); a != run.Finished || b != run.Finished {
			t.Errorf("got %s and %s, want both over", a, b)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
}

// A stopped process that wakes up after another one has taken its run appends nothing.
func TestWokenProcessIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := run.NewMemory()
		first, _ := process(t, stalled{store}, play(uses(sleep("1", 60)), says("late")), agent.Options{LeaseTTL: 10 * time.Second})
		late := make(chan error)
		go func() {
			_, err := first.Run(t.Context(), human("go"), agent.In(theRun.ID))
			late <- err
		}()
		time.Sleep(20 * time.Second) // the lease is over
		second, _ := process(t, store, play(says("done")), agent.Options{})
		got, err := second.ResumeRun(t.Context(), theRun)
		if err != nil || got.Answer != "done" {
			t.Fatalf("got %+v, %v", got, err)
		}
		if err := <-late; !errors.Is(err, run.ErrConflict) {
			t.Errorf("got %v, want a conflict", err)
		}
		if _, err := store.Load(t.Context(), theRun); err != nil {
			t.Error(err)
		}
	})
}

// stalled is a store for a process that is stopped: its lease is not renewed.
type stalled struct{ run.Store }

func (stalled) Renew(context.Context, run.Lease, time.Duration) error { return nil }
