package temporal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	temporalsdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/internal/check"
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
		check.That(t, info.HeartbeatTimeout <= a.LeaseTTL(),
			"got a heartbeat timeout of %v, and the lease is for %v", info.HeartbeatTimeout, a.LeaseTTL())
	})
	env.SetOnActivityCompletedListener(func(_ *activity.Info, result converter.EncodedValue, err error) {
		steps++
		var value any
		_ = result.Get(&value)
		_ = json.NewEncoder(&history).Encode(value)
	})
	env.ExecuteWorkflow("mcpchain.Run", theJob())
	finished(t, env)
	check.Equal(t, "steps", steps, 3)
	n := w.noted()
	check.That(t, slices.Equal(n[:1], []int{1}) && len(n) == 3, "got notes %v", n)
	for _, word := range []string{secret, "noted", "go\""} {
		check.That(t, !strings.Contains(history.String(), word), "the history has %q:\n%s", word, &history)
	}
	s := queried(t, env)
	check.That(t, s.Status == run.StatusFinished && s.Steps == 3 && s.Agent == "helper", "got state %+v", s)
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
	check.Must(t, err)
	return s
}

// TestRunFails checks that the workflow of a failed run fails without the reason, which the store has.
func TestRunFails(t *testing.T) {
	w := newWorld()
	env := begin(t, w.agent(t, script{{err: errors.New(secret)}}, agent.Options{}), nil)
	env.ExecuteWorkflow("mcpchain.Run", theJob())
	err := env.GetWorkflowError()
	check.That(t, typeOf(err) == "RunFailed" && !strings.Contains(err.Error(), secret), "got %v, want that the run has failed, and no reason", err)
	s := w.state(t)
	check.That(t, s.Status == run.StatusFailed && strings.Contains(s.Error, secret), "got %s, %q", s.Status, s.Error)
}

// TestRunCannotGoOn has runs that were deleted, or cannot be acquired for a while.
func TestRunCannotGoOn(t *testing.T) {
	t.Run("deleted", func(t *testing.T) {
		w := newWorld()
		env := begin(t, w.agent(t, script{{text: "done"}}, agent.Options{}), nil)
		check.Must(t, w.store.Delete(t.Context(), key))
		env.ExecuteWorkflow("mcpchain.Run", theJob())
		check.Equal(t, "", typeOf(env.GetWorkflowError()), "NotFound")
	})
	for name, tt := range map[string]struct {
		refusals int
		lease    time.Duration // of a dead worker
	}{"held by a dead worker": {refusals: 3}, "held for a time": {lease: 800 * time.Millisecond}} {
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
				check.Must(t, check.Err(inner.Acquire(t.Context(), key, record.Holder{Name: "dead", TTL: tt.lease})))
			}
			env.ExecuteWorkflow("mcpchain.Run", theJob())
			finished(t, env)
			check.That(t, tries > tt.refusals && tries <= 15, "the run was done after %d tries, want few", tries)
		})
	}
	t.Run("other agents", func(t *testing.T) {
		w := newWorld()
		env := begin(t, w.agent(t, script{{text: "done"}}, agent.Options{}), nil)
		job := theJob()
		job["target"].(map[string]any)["agent"] = "another"
		env.ExecuteWorkflow("mcpchain.Run", job)
		var app *temporalsdk.ApplicationError // after the ten attempts of a test
		err := env.GetWorkflowError()
		check.That(t, errors.As(err, &app) && !app.NonRetryable() && strings.Contains(err.Error(), `no agent "another"`), "got %v, want that another worker may go on", err)
	})
}

// TestContinueAsNew checks that a workflow that continues as new keeps what it needs.
func TestContinueAsNew(t *testing.T) {
	w := newWorld()
	a := w.agent(t, script{{calls: []string{`{"n":1}`}}, {calls: []string{`{"n":2,"ask":true}`}}, {calls: []string{`{"n":3}`}}, {text: "done"}}, agent.Options{})
	env := begin(t, a, nil)
	env.RegisterDelayedCallback(func() { update(t, env, "1", ledger.Open(w.state(t))[0].Allow()) }, time.Minute)
	first := theJob()
	first["after"] = 3
	env.ExecuteWorkflow("mcpchain.Run", first)
	var next *workflow.ContinueAsNewError
	err := env.GetWorkflowError()
	check.Require(t, errors.As(err, &next) && next.WorkflowType.Name == "mcpchain.Run", "got %v, want to continue as new", err)
	var job map[string]any
	check.Must(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &job))
	env = environment(t, a, nil)
	env.ExecuteWorkflow("mcpchain.Run", job)
	finished(t, env)
	check.Same(t, "notes", w.noted(), []int{1, 2, 3})
	check.Equal(t, "steps", queried(t, env).Steps, 5)
}

// TestCancel checks that the end of a cancelled workflow ends the context of the current tool call, and then the run.
func TestCancel(t *testing.T) {
	w := newWorld()
	env := begin(t, w.agent(t, script{{calls: []string{`{"n":1,"hang":true}`}}}, agent.Options{}), nil)
	go func() {
		<-w.began
		env.CancelWorkflow()
	}()
	env.ExecuteWorkflow("mcpchain.Run", theJob())
	check.Equal(t, "the workflow is cancelled", temporalsdk.IsCanceledError(env.GetWorkflowError()), true)
	select {
	case <-w.ended:
	case <-time.After(testenv.Patience):
		t.Error("the call continues")
	}
	check.Equal(t, "status", w.state(t).Status, run.StatusCancelled)
}

// TestCancelWaiting cancels a waiting run with its questions.
func TestCancelWaiting(t *testing.T) {
	w := newWorld()
	env := begin(t, w.agent(t, script{{calls: []string{`{"n":1,"ask":true}`}}}, agent.Options{}), nil)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	env.ExecuteWorkflow("mcpchain.Run", theJob())
	check.Equal(t, "the workflow is cancelled", temporalsdk.IsCanceledError(env.GetWorkflowError()), true)
	s := w.state(t)
	check.That(t, s.Status == run.StatusCancelled && len(ledger.Open(s)) == 0 && len(w.noted()) == 0, "the run is %s, with %d questions and notes %v", s.Status, len(ledger.Open(s)), w.noted())
	answer := queried(t, env)
	check.That(t, answer.Status == run.StatusCancelled && len(answer.Questions) == 0, "got state %+v", answer)
}

// TestWorkerStops checks that a stopping worker lets a step continue for a while, and then leaves it to another worker.
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
	texts := told(w.state(t))
	check.That(t, len(texts) == 2 && strings.HasPrefix(texts[0], want) && texts[1] == "noted", "the model is told %q, want %q of the first call", texts, want)
	check.Text(t, <-w.ended, "another one continues")
}

// TestReplay replays histories of earlier versions, written by evals/temporal on a server, with another model, other
// tools and other options. Add files, but never change one, because such workflows may be running.
func TestReplay(t *testing.T) {
	files := check.Value(filepath.Glob("testdata/*.json"))(t)
	for _, name := range []string{"answers", "cancelled", "cancelled_waiting", "changed", "continued", "done", "expired", "scheduled", "stopped"} {
		check.That(t, slices.Contains(files, filepath.Join("testdata", name+".json")), "there is no history %s", name)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { check.Must(t, replayed(t, file)) })
	}
}

func replayed(t *testing.T, file string) error {
	t.Helper()
	r := worker.NewWorkflowReplayer()
	a := newWorld().agent(t, script{{text: "another answer"}}, agent.Options{System: "Another prompt."})
	check.Must(t, temporal.Register(r, []*agent.Agent{a}, &temporal.WorkerOptions{Steps: 1, Grace: time.Minute}))
	return r.ReplayWorkflowHistoryFromJSONFile(silent, file)
}

// TestCancelBeforeContinueAsNew replays the history of a cancelled workflow whose step ended all the same, and was the
// last one before it continues as new: it cancels the run, because the next execution would not know.
func TestCancelBeforeContinueAsNew(t *testing.T) {
	data := check.Value(os.ReadFile("testdata/cancelled.json"))(t)
	var history struct {
		Events []map[string]any `json:"events"`
	}
	check.Must(t, json.Unmarshal(data, &history))
	payload := func(v any) any {
		data := check.Value(json.Marshal(v))(t)
		return map[string]any{"payloads": []any{map[string]any{"metadata": map[string]any{"encoding": []byte("json/plain")}, "data": data}}}
	}
	for _, e := range history.Events {
		switch e["eventType"] {
		case "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED":
			e["workflowExecutionStartedEventAttributes"].(map[string]any)["input"] = payload(map[string]any{
				"after": 1, "attributes": true, "target": map[string]any{"tenant": "acme", "id": "cancelled", "agent": "helper"},
			})
		case "EVENT_TYPE_ACTIVITY_TASK_CANCELED":
			delete(e, "activityTaskCanceledEventAttributes")
			e["eventType"] = "EVENT_TYPE_ACTIVITY_TASK_COMPLETED"
			e["activityTaskCompletedEventAttributes"] = map[string]any{
				"result": payload(map[string]any{"status": "running"}), "scheduledEventId": "6", "startedEventId": "12", "identity": "test",
			}
		}
	}
	data = check.Value(json.Marshal(history))(t)
	file := filepath.Join(t.TempDir(), "history.json")
	check.Must(t, os.WriteFile(file, data, 0o600))
	check.Must(t, replayed(t, file))
}

// dying is a process that dies once at a write to its store, before or after it. An activity's next attempt is another process.
type dying struct {
	store      record.Store
	at, writes int
	keep       bool
	dead       atomic.Bool
}

var errDead = fmt.Errorf("the process has died: %w", record.ErrConflict)

// revive starts the next process, after the lease of the dead one.
func (d *dying) revive(*activity.Info, context.Context, converter.EncodedValues) {
	if !d.dead.Swap(false) {
		return
	}
	if log, err := d.store.Load(context.Background(), key); err == nil {
		_ = d.store.Release(context.Background(), record.Lease{Key: key, Epoch: log.Head.Epoch}) // otherwise the next process waits for its end
	}
}

// call makes a call of the store, unless the process dies before it or has died.
func (d *dying) call(c *ledgertest.Call) error {
	if d.dead.Load() {
		return errDead
	}
	if c.Method != "append" && c.Method != "put" {
		return c.Do()
	}
	if d.writes++; d.writes != d.at {
		return c.Do()
	}
	d.dead.Store(true)
	if d.keep {
		return errors.Join(errDead, c.Do())
	}
	return errDead
}

// dieAtEachWrite drives a run of an agent with a tool, whose worker dies before or after any of at
// least some writes. ended checks each run.
func dieAtEachWrite(t *testing.T, m agent.Model, tools adapter.Source, least int, ended func(about string, s *ledger.State, d *dying)) {
	t.Helper()
	play := func(d *dying) {
		w := newWorld()
		d.store = ledgertest.Watch(w.store, d.call)
		w.store = d.store
		a, err := agent.New(m, &agent.Options{Name: "helper", Durable: agent.Durable{Store: d.store, LeaseTTL: time.Second}, Tools: []adapter.Source{tools}})
		check.Must(t, err)
		env := begin(t, a, nil)
		env.SetOnActivityStartedListener(d.revive)
		env.ExecuteWorkflow("mcpchain.Run", theJob())
		about := fmt.Sprintf("died at write %d, kept %v", d.at, d.keep)
		err = env.GetWorkflowError()
		check.Require(t, err == nil, "%s: %v", about, err)
		ended(about, w.state(t), d)
	}
	undisturbed := new(dying)
	play(undisturbed)
	check.Require(t, undisturbed.writes >= least, "got %d writes", undisturbed.writes)
	for at := 1; at <= undisturbed.writes; at++ {
		for _, keep := range []bool{false, true} {
			play(&dying{at: at, keep: keep})
		}
	}
}

// TestDiscovery lets a worker die before or after any write. What the model has found stays found, in order, and a kept
// result has the same bytes. The model searches twice, calls what it found, and reads in its long result.
func TestDiscovery(t *testing.T) {
	var readings strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&readings, "%d: 7 bar\n", i+1)
	}
	var all []adapter.Source
	for i := range 300 {
		about := fmt.Sprintf("Reads the pressure at valve %d, which stands in the long hall behind the plant.", i)
		all = append(all, adapter.Func(fmt.Sprint("valve_", i), about, func(context.Context, struct{}) (string, error) { return readings.String(), nil }, &adapter.FuncOptions{ReadOnly: true}))
	}
	var got string // the tools of the model at the end
	searches := modelFunc(func(r *model.Request) *model.Response {
		last := r.Messages[len(r.Messages)-1].Parts[0].Text
		turn := len(r.Messages) / 2
		call := run.Part{Type: run.PartCall, ID: fmt.Sprint(turn), Name: "search_tools", Arguments: fmt.Sprintf(`{"query":"select:valve_%d"}`, 90-turn)}
		switch turn {
		case 2:
			call.Name, call.Arguments = "valve_89", `{}`
		case 3:
			_, after, _ := strings.Cut(last, `{"handle":"`)
			handle, _, _ := strings.Cut(after, `"`)
			call.Name, call.Arguments = "read_result", fmt.Sprintf(`{"handle":%q,"line":1000,"lines":1}`, handle)
		}
		got = ""
		for _, t := range r.Tools {
			got += t.Name + " "
		}
		if turn > 3 {
			return &model.Response{Message: run.Text(run.RoleAssistant, last)}
		}
		return &model.Response{Message: run.Message{Role: run.RoleAssistant, Parts: []run.Part{call}}}
	})
	dieAtEachWrite(t, searches, adapter.Merge(all...), 8, func(about string, s *ledger.State, d *dying) {
		check.Require(t, got == "search_tools valve_90 valve_89 read_result " && len(s.Kept) == 1 && s.Output == "[lines 1000 to 1000 of 2001]\n1000: 7 bar\n",
			"%s: the model has %q, and the run kept %v and answers %q", about, got, s.Kept, s.Output)
		names, err := d.store.Blobs(t.Context(), key)
		check.That(t, err == nil && len(names) == 1 && names[0] == s.Kept[0].Handle, "%s: got the blobs %q, %v", about, names, err)
		data, err := d.store.Blob(t.Context(), key, s.Kept[0].Handle)
		check.That(t, err == nil && string(data) == readings.String(), "%s: got other bytes of the result, %v", about, err)
	})
}
