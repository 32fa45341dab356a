package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// TestCancelFromAnywhere has an operator, who has the store alone, cancel a run that a process works on. The request is not for the
// next input.
func TestCancelFromAnywhere(t *testing.T) {
	for name, open := range everyStore {
		synctestRun(t, name, func(t *testing.T) { cancelFromAnywhere(t, open(t)) })
	}
}

func cancelFromAnywhere(t *testing.T, store record.Store) {
	a := slowAgent(t, store, time.Minute)
	type outcome struct {
		result *agent.Result
		err    error
	}
	drive := func() <-chan outcome {
		done := make(chan outcome, 1)
		go func() {
			r, err := a.Run(t.Context(), human("go"), agent.In(theRun.ID))
			done <- outcome{r, err}
		}()
		return done
	}
	isCancelled := func(who string, got outcome) {
		t.Helper()
		if !errors.Is(got.err, agent.ErrCancelled) || got.result.Status != run.StatusCancelled {
			t.Errorf("%s: got %s, %v, want a cancelled run", who, got.result.Status, got.err)
		}
		if log, err := store.Load(t.Context(), theRun); err != nil || log.Head.Status != run.StatusCancelled || !log.Head.Held.IsZero() {
			t.Errorf("%s: the store has %+v, %v, want a cancelled run that is free", who, log.Head, err)
		}
	}
	first := drive()
	time.Sleep(5 * time.Second)
	asked := time.Now()
	check(t, record.CancelRun(t.Context(), store, theRun))
	if took := time.Since(asked); took > 3*time.Second {
		t.Errorf("the process heard of it after %v", took)
	}
	isCancelled("an operator", <-first)

	second := drive() // whose turns the old request does not end
	time.Sleep(30 * time.Second)
	asked = time.Now()
	if _, err := a.Cancel(t.Context(), theRun); !errors.Is(err, record.ErrHeld) {
		t.Errorf("got %v, want that the run is held", err)
	}
	isCancelled("the process itself", <-second)
	if took := time.Since(asked); took > 0 {
		t.Errorf("the process itself heard of it after %v", took)
	}
	if got := <-drive(); got.err != nil || got.result.Status != run.StatusFinished {
		t.Errorf("a later input: got %s, %v, want an answer", got.result.Status, got.err)
	}
}

// TestCancelOutlivesTheHolder has the process of a run end before it hears that the run is to end: who takes the run up ends it, and calls
// no model.
func TestCancelOutlivesTheHolder(t *testing.T) {
	for name, open := range everyStore {
		synctestRun(t, name, func(t *testing.T) { cancelOutlives(t, open(t)) })
	}
}

func cancelOutlives(t *testing.T, store record.Store) {
	a, _ := process(t, store, play(), agent.Options{})
	key := begun(t, a)
	lease, err := store.Acquire(t.Context(), key, record.Holder{Name: "stopped", TTL: time.Minute})
	check(t, err)
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	if err := record.CancelRun(ctx, store, key); !errors.Is(err, record.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want that the run is held", err)
	}
	check(t, store.Release(t.Context(), lease))
	var ended error
	ctx, stop = context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	options := &agent.RecoverOptions{Logger: slog.New(slog.DiscardHandler), OnEnd: func(_ run.Key, _ *agent.Result, err error) {
		ended = err
		stop()
	}}
	_ = agent.Recover(ctx, store, []*agent.Agent{a}, options)
	if !errors.Is(ended, agent.ErrCancelled) {
		t.Errorf("got %v, want a cancelled run", ended)
	}
}
