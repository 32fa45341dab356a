package temporal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	temporalsdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

const secret = "the secret of the model"

// TestRun takes steps until the run has ended. The history contains no text of the run.
func TestRun(t *testing.T) {
	w := newWorld()
	a := w.agent(t, script{{text: secret, calls: []string{`{"n":1}`}}, {calls: []string{`{"n":2}`, `{"n":3}`}}, {text: secret}}, agent.Options{})
	env := begin(t, a, nil)
	var history bytes.Buffer
	steps := 0
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, args converter.EncodedValues) {
		var job any
		_ = args.Get(&job)
		_ = json.NewEncoder(&history).Encode(job)
		if info.HeartbeatTimeout > a.LeaseTTL() {
			t.Errorf("got a heartbeat timeout of %v, and the lease is for %v", info.HeartbeatTimeout, a.LeaseTTL())
		}
	})
	env.SetOnActivityCompletedListener(func(_ *activity.Info, result converter.EncodedValue, err error) {
		steps++
		var value any
		_ = result.Get(&value)
		_ = json.NewEncoder(&history).Encode(value)
	})
	env.ExecuteWorkflow("mcpchain.Run", theJob())
	if finished(t, env); steps != 3 {
		t.Errorf("the run was done after %d steps, want 3", steps)
	}
	if n := w.noted(); !slices.Equal(n[:1], []int{1}) || len(n) != 3 {
		t.Errorf("got notes %v", n)
	}
	for _, word := range []string{secret, "noted", "go\""} {
		if strings.Contains(history.String(), word) {
			t.Errorf("the history has %q:\n%s", word, &history)
		}
	}
	s := queried(t, env)
	if s.Status != run.StatusFinished || s.Steps != 3 || s.Agent != "helper" {
		t.Errorf("got state %+v", s)
	}
}

type querier interface {
	QueryWorkflow(name string, args ...any) (converter.EncodedValue, error)
}

func queried(t *testing.T, env querier) (s temporal.State) {
	t.Helper()
	value, err := env.QueryWorkflow("state")
	if err == nil {
		err = value.Get(&s)
	}
	check(t, err)
	return s
}

// TestRunFails checks that the workflow of a failed run fails without the reason, which the
// store has.
func TestRunFails(t *testing.T) {
	w := newWorld()
	env := begin(t, w.agent(t, script{{err: errors.New(secret)}}, agent.Options{}), nil)
	env.ExecuteWorkflow("mcpchain.Run", theJob())
	err := env.GetWorkflowError()
	if typeOf(err) != "RunFailed" || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v, want that the run has failed, and no reason", err)
	}
	if s := w.state(t); s.Status != run.StatusFailed || !strings.Contains(s.Error, secret) {
		t.Errorf("got %s, %q", s.Status, s.Error)
	}
}

// TestRunCannotGoOn has runs that were deleted, or cannot be acquired for a while.
func TestRunCannotGoOn(t *testing.T) {
	t.Run("deleted", func(t *testing.T) {
		w := newWorld()
		env := begin(t, w.agent(t, script{{text: "done"}}, agent.Options{}), nil)
		check(t, w.store.Delete(t.Context(), key))
		env.ExecuteWorkflow("mcpchain.Run", theJob())
		if err := env.GetWorkflowError(); typeOf(err) != "NotFound" {
			t.Errorf("got %v, want record.ErrNotFound", err)
		}
	})
	for name, tt := range map[string]struct {
		refusals int
		lease    time.Duration // of a dead worker
	}{
		"held by a dead worker": {refusals: 3},
		"held for a time":       {lease: 800 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tries, inner := 0, w.store
			w.store = ledgertest.Watch(inner, func(c *ledgertest.Call) error {
				if c.Method == "acquire" {
					if tries++; tries <= tt.refusals {
						return record.ErrHeld
					}
				}
				return c.Do()
			})
			env := begin(t, w.agent(t, script{{text: "done"}}, agent.Options{}), nil)
			tries = 0
			if tt.lease > 0 {
				check(t, errorOf(inner.Acquire(t.Context(), key, record.Holder{Name: "dead", TTL: tt.lease})))
			}
			env.ExecuteWorkflow("mcpchain.Run", theJob())
			if finished(t, env); tries <= tt.refusals || tries > 15 {
				t.Errorf("the run was done after %d tries, want few", tries)
			}
		})
	}
	t.Run("other agents", func(t *testing.T) {
		w := newWorld()
		env := begin(t, w.agent(t, script{{text: "done"}}, agent.Options{}), nil)
		job := theJob()
		job["target"].(map[string]any)["agent"] = "another"
		env.ExecuteWorkflow("mcpchain.Run", job)
		var app *temporalsdk.ApplicationError // after the ten attempts of a test
		if err := env.GetWorkflowError(); !errors.As(err, &app) || app.NonRetryable() || !strings.Contains(err.Error(), `no agent "another"`) {
			t.Errorf("got %v, want that another worker may go on", err)
		}
	})
}

// TestContinueAsNew checks that a workflow that continues as new keeps what it needs.
func TestContinueAsNew(t *testing.T) {
	w := newWorld()
	a := w.agent(t, script{{calls: []string{`{"n":1}`}}, {calls: []string{`{"n":2,"ask":true}`}}, {calls: []string{`{"n":3}`}}, {text: "done"}}, agent.Options{})
	env := begin(t, a, nil)
	env.RegisterDelayedCallback(func() {
		q := ledger.Open(w.state(t))[0]
		update(t, env, "1", q.Allow())
	}, time.Minute)
	first := theJob()
	first["after"] = 3
	env.ExecuteWorkflow("mcpchain.Run", first)
	var next *workflow.ContinueAsNewError
	if err := env.GetWorkflowError(); !errors.As(err, &next) || next.WorkflowType.Name != "mcpchain.Run" {
		t.Fatalf("got %v, want to continue as new", err)
	}
	var job map[string]any
	check(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &job))
	env = environment(t, a, nil)
	env.ExecuteWorkflow("mcpchain.Run", job)
	if finished(t, env); !slices.Equal(w.noted(), []int{1, 2, 3}) {
		t.Errorf("got notes %v", w.noted())
	}
	if s := queried(t, env); s.Steps != 5 {
		t.Errorf("got %+v, want 5 steps: 3 and 2", s)
	}
}

// TestCancel checks that the end of a cancelled workflow ends the context of the current tool
// call, and then the run.
func TestCancel(t *testing.T) {
	w := newWorld()
	env := begin(t, w.agent(t, script{{calls: []string{`{"n":1,"hang":true}`}}}, agent.Options{}), nil)
	go func() {
		<-w.began
		env.CancelWorkflow()
	}()
	env.ExecuteWorkflow("mcpchain.Run", theJob())
	if err := env.GetWorkflowError(); !temporalsdk.IsCanceledError(err) {
		t.Errorf("got %v, want that it is cancelled", err)
	}
	select {
	case <-w.ended:
	case <-time.After(testenv.Patience):
		t.Error("the call continues")
	}
	if s := w.state(t); s.Status != run.StatusCancelled {
		t.Errorf("the run is %s", s.Status)
	}
}

// TestCancelWaiting cancels a waiting run with its questions.
func TestCancelWaiting(t *testing.T) {
	w := newWorld()
	env := begin(t, w.agent(t, script{{calls: []string{`{"n":1,"ask":true}`}}}, agent.Options{}), nil)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	env.ExecuteWorkflow("mcpchain.Run", theJob())
	if err := env.GetWorkflowError(); !temporalsdk.IsCanceledError(err) {
		t.Errorf("got %v, want that it is cancelled", err)
	}
	if s := w.state(t); s.Status != run.StatusCancelled || len(ledger.Open(s)) != 0 || len(w.noted()) != 0 {
		t.Errorf("the run is %s, with %d questions and notes %v", s.Status, len(ledger.Open(s)), w.noted())
	}
	if s := queried(t, env); s.Status != run.StatusCancelled || len(s.Questions) != 0 {
		t.Errorf("got state %+v", s)
	}
}

// TestWorkerStops checks that a stopping worker lets a step continue for a while, and then
// leaves it to another worker.
func TestWorkerStops(t *testing.T) {
	w := newWorld()
	a := w.agent(t, script{{calls: []string{`{"n":1,"hang":true}`, `{"n":2}`}}, {text: "done"}}, agent.Options{})
	env := begin(t, a, &temporal.WorkerOptions{Grace: time.Second}) // also for the next attempt
	stop := make(chan struct{})
	env.SetWorkerStopChannel(stop)
	go func() {
		<-w.began
		close(stop)
	}()
	env.ExecuteWorkflow("mcpchain.Run", theJob())
	finished(t, env)
	want := "It is unknown whether the call ran"
	if texts := told(w.state(t)); len(texts) != 2 || !strings.HasPrefix(texts[0], want) || texts[1] != "noted" {
		t.Errorf("the model is told %q, want %q of the first call", texts, want)
	}
	if err := <-w.ended; err == nil || !strings.Contains(err.Error(), "another one continues") {
		t.Errorf("the call ended with %v", err)
	}
}
