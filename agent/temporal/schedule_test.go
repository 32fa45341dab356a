package temporal_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	temporalsdk "go.temporal.io/sdk/temporal"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// scheduled returns the action of a schedule.
func scheduled(t *testing.T, w *world, a *agent.Agent, key run.Key) *client.ScheduleWorkflowAction {
	t.Helper()
	return check.Value(temporal.NewClient(newService(t, nil), w.store, nil).ScheduleAction(a, key, agent.Text("go")))(t)
}

// TestScheduleRefuses refuses an id that would be too long with the time at its end, and an empty input.
func TestScheduleRefuses(t *testing.T) {
	w := newWorld()
	a := w.agent(t, script{{text: "done"}}, agent.Options{})
	c := temporal.NewClient(newService(t, nil), w.store, nil)
	for n, fits := range map[int]bool{1000 - len("-2030-01-02T03:00:00Z"): true, 1000 - len("-2030-01-02T03:00:00Z") + 1: false} {
		action, err := c.ScheduleAction(a, run.Key{ID: strings.Repeat("x", n)}, agent.Text("go"))
		check.That(t, (err == nil) == fits && (action != nil) == fits, "an id of %d bytes: got %v, want that it fits: %v", n, err, fits)
	}
	check.Text(t, check.Err(c.ScheduleAction(a, key, nil)), "there are no messages")
}

// TestSchedule checks that the workflow of a schedule begins and drives a run with the time in its id.
func TestSchedule(t *testing.T) {
	for name, test := range map[string]struct {
		workflow string
		want     run.Key
		fails    bool
	}{
		"a time":         {workflow: "acme/report-2030-01-02T03:00:00Z", want: run.Key{Tenant: "acme", ID: "report-2030-01-02T03:00:00Z"}},
		"another tenant": {workflow: "other/report-2030-01-02T03:00:00Z", fails: true},
		"no run's id":    {workflow: "acme/report%zz", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			a := w.agent(t, script{{calls: []string{`{"n":1,"ask":true}`}}, {text: "done"}}, agent.Options{})
			action := scheduled(t, w, a, run.Key{Tenant: "acme", ID: "report"})
			check.That(t, action.ID == "acme/report" && action.TaskQueue == "mcpchain" && action.Priority.FairnessKey == "acme",
				"got %+v", action)
			env := environment(t, a, nil)
			env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: test.workflow, TaskQueue: action.TaskQueue})
			env.RegisterDelayedCallback(func() {
				if test.fails {
					return
				}
				update(t, env, "1", ledger.Open(w.stateOf(t, test.want))[0].Allow())
			}, time.Minute)
			env.ExecuteWorkflow(action.Workflow, action.Args...)
			if err := env.GetWorkflowError(); test.fails {
				check.Equal(t, "", typeOf(err), "NoRun")
				return
			}
			finished(t, env)
			check.Equal(t, "notes", len(w.noted()), 1)
		})
	}
}

// TestScheduleCancelled checks that a run ends whose workflow is cancelled while it begins.
func TestScheduleCancelled(t *testing.T) {
	w := newWorld()
	a := w.agent(t, script{{text: "done"}}, agent.Options{})
	action := scheduled(t, w, a, run.Key{ID: "report"})
	env := environment(t, a, nil)
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "report-1", TaskQueue: action.TaskQueue})
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "mcpchain.Begin" {
			env.CancelWorkflow()
		}
	})
	env.ExecuteWorkflow(action.Workflow, action.Args...)
	check.Equal(t, "the workflow is cancelled", temporalsdk.IsCanceledError(env.GetWorkflowError()), true)
	check.Equal(t, "status", w.stateOf(t, run.Key{ID: "report-1"}).Status, run.StatusCancelled)
}

// TestScheduleBeginsOnce checks that a run that a worker has begun before it died is not begun again.
func TestScheduleBeginsOnce(t *testing.T) {
	w := newWorld()
	s := workerOf(t, w.agent(t, script{{text: "done"}}, agent.Options{}), nil, nil)
	for range 2 {
		got := check.Value(s.envs[0].ExecuteActivity("mcpchain.Begin", map[string]string{"agent": "helper"}, agent.Text("go")))(t)
		var id string
		check.Must(t, got.Get(&id))
		check.Must(t, s.take(0, "", id))
		check.Equal(t, "messages: one question and one answer", len(w.stateOf(t, run.Key{ID: id}).History), 2)
	}
}
