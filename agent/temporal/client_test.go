package temporal_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/mocks"
	temporalsdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// service is a client of Temporal that records which workflows are started or signalled.
type service struct {
	*mocks.Client
	woken []client.StartWorkflowOptions
}

func newService(t *testing.T, err error) *service {
	s := &service{Client: mocks.NewClient(t)}
	s.On("SignalWithStartWorkflow", mock.Anything, mock.Anything, "wake", nil, mock.Anything, "mcpchain.Run", mock.Anything).Maybe().
		Run(func(args mock.Arguments) { s.woken = append(s.woken, args.Get(4).(client.StartWorkflowOptions)) }).
		Return(nil, err)
	return s
}

var gone = serviceerror.NewNotFound("no such workflow")

// TestStart checks that Start stores the run and signals its workflow, even if that exists.
func TestStart(t *testing.T) {
	w, s := newWorld(), newService(t, nil)
	a := w.agent(t, script{{text: "done"}}, agent.Options{})
	c := temporal.NewClient(s, w.store, &temporal.ClientOptions{Queue: "q", SearchAttributes: true})
	got, err := c.Start(t.Context(), a, agent.Text("go"), agent.WithRun(key.ID), agent.WithTenant(key.Tenant))
	check.Require(t, err == nil && got == key && w.state(t).Status == run.StatusRunning, "got %v, %v", got, err)
	o := s.woken[0]
	check.That(t, o.ID == "acme/r" && o.TaskQueue == "q" && o.Priority.FairnessKey == "acme" && o.TypedSearchAttributes.Size() == 3, "got %+v", o)
	_, err = c.Start(t.Context(), a, agent.Text("go"), agent.WithRun(key.ID), agent.WithTenant(key.Tenant))
	check.That(t, err != nil && len(s.woken) == 1, "got %v for a second input during the run, and %d workflows", err, len(s.woken))
	check.NoError(t, c.Drive(t.Context(), key))
	check.Equal(t, "workflows", len(s.woken), 2)
}

// TestStartWithoutTemporal checks that the run is stored if Temporal is away, and that its key is returned.
func TestStartWithoutTemporal(t *testing.T) {
	away := errors.New("away")
	w, s := newWorld(), newService(t, away)
	c := temporal.NewClient(s, w.store, nil)
	got, err := c.Start(t.Context(), w.agent(t, script{{text: "done"}}, agent.Options{}), agent.Text("go"), agent.WithRun(key.ID), agent.WithTenant(key.Tenant))
	check.That(t, errors.Is(err, away) && got == key && w.state(t).Status == run.StatusRunning, "got %v, %v", got, err)
}

// waiting returns a run that waits for an approval and has no workflow.
func waiting(t *testing.T) (*world, *run.Question) {
	t.Helper()
	w := newWorld()
	a := w.agent(t, script{{calls: []string{`{"n":1,"ask":true}`}}, {text: "done"}}, agent.Options{})
	got, err := a.Run(t.Context(), agent.Text("go"), agent.WithRun(key.ID), agent.WithTenant(key.Tenant))
	check.Require(t, err == nil && len(got.Questions) == 1, "got %+v, %v", got, err)
	return w, got.Questions[0]
}

// TestAnswerWithoutWorkflow checks that a run without a workflow takes replies by its store, and gets a workflow if it continues.
func TestAnswerWithoutWorkflow(t *testing.T) {
	w, q := waiting(t)
	s := newService(t, nil)
	s.On("UpdateWorkflow", mock.Anything, mock.Anything).Return(nil, gone)
	c := temporal.NewClient(s, w.store, nil)
	check.Is(t, c.Reply(t.Context(), key, run.Reply{Question: "forged", Action: run.ActionAllow}), run.ErrNotAsked)
	check.Equal(t, "workflows for a forged answer", len(s.woken), 0)
	check.NoError(t, c.Reply(t.Context(), key, q.Allow()))
	check.Equal(t, "workflows", len(s.woken), 1)
	check.Is(t, c.Reply(t.Context(), key, q.Deny("")), record.ErrReplied)
}

// TestUpdateID checks that equal replies, and no others, are the same update.
func TestUpdateID(t *testing.T) {
	w, q := waiting(t)
	s, ids := newService(t, nil), map[string]bool{}
	s.On("UpdateWorkflow", mock.Anything, mock.Anything).
		Run(func(args mock.Arguments) { ids[args.Get(1).(client.UpdateWorkflowOptions).UpdateID] = true }).
		Return(nil, context.Canceled)
	c := temporal.NewClient(s, w.store, nil)
	for _, a := range []run.Reply{q.Allow(), q.Allow(), q.Deny(""), q.Deny("no")} {
		check.Is(t, c.Reply(t.Context(), key, a), context.Canceled)
	}
	check.Equal(t, "updates", len(ids), 3)
}

// TestCancelWithoutWorkflow checks that a run without a workflow gets one that cancels it, unless it has ended.
func TestCancelWithoutWorkflow(t *testing.T) {
	w, _ := waiting(t)
	s := newService(t, nil)
	s.On("CancelWorkflow", mock.Anything, "acme/r", "").Return(gone).Once()
	s.On("CancelWorkflow", mock.Anything, "acme/r", "").Return(nil).Once()
	c := temporal.NewClient(s, w.store, nil)
	check.NoError(t, c.Cancel(t.Context(), key))
	check.Equal(t, "workflows", len(s.woken), 1)
	s.On("CancelWorkflow", mock.Anything, "acme/r", "").Return(gone).Once()
	s.On("CancelWorkflow", mock.Anything, "acme/r", "").Run(func(mock.Arguments) { // the run ends while its workflow is cancelled
		check.Must(t, check.Err(w.agent(t, script{{text: "done"}}, agent.Options{}).Cancel(t.Context(), key)))
	}).Return(gone).Once()
	check.NoError(t, c.Cancel(t.Context(), key))
	s.On("CancelWorkflow", mock.Anything, "acme/r", "").Return(gone)
	check.NoError(t, c.Cancel(t.Context(), key))
	check.Equal(t, "workflows for a run that is over", len(s.woken), 2)
}

// TestResultWithoutWorkflow checks that the store has the result of a run whose workflow Temporal has forgotten.
func TestResultWithoutWorkflow(t *testing.T) {
	w, _ := waiting(t)
	s, h := newService(t, nil), mocks.NewWorkflowRun(t)
	s.On("GetWorkflow", mock.Anything, "acme/r", "").Return(h)
	terminated := new(temporalsdk.WorkflowExecutionError)
	h.On("Get", mock.Anything, nil).Return(terminated).Once()
	h.On("Get", mock.Anything, nil).Return(gone)
	c := temporal.NewClient(s, w.store, nil)
	check.Is(t, check.Err(c.Result(t.Context(), key)), terminated, "a run that has not ended, whose workflow an operator has")
	check.Is(t, check.Err(c.Result(t.Context(), key)), gone, "a run that has not ended")
	check.Must(t, check.Err(w.agent(t, script{{text: "done"}}, agent.Options{}).Cancel(t.Context(), key)))
	got := check.Value(c.Result(t.Context(), key))(t)
	check.Equal(t, "status", got.Status, run.StatusCancelled)
}

// TestWorkflowID checks that different runs have different workflows, with ids that Temporal accepts.
func TestWorkflowID(t *testing.T) {
	seen := map[string]run.Key{}
	long := strings.Repeat("é", 512)
	for _, k := range []run.Key{
		{ID: "b"}, {Tenant: "a", ID: "b"}, {ID: "a/b"}, {Tenant: "a/b", ID: "c"}, {Tenant: "a", ID: "b/c"}, {ID: "a%2Fb"},
		{ID: long}, {ID: long[2:]}, {Tenant: long, ID: "b"}, {ID: temporal.WorkflowID(run.Key{ID: long})},
	} {
		id := temporal.WorkflowID(k)
		other, ok := seen[id]
		check.That(t, !ok && len(id) <= 1000, "%v and %v have the id %q", k, other, id)
		seen[id] = k
	}
	check.Equal(t, "id", temporal.WorkflowID(run.Key{ID: "run_1"}), "run_1")
}

// asking starts a run that asks for two approvals, and calls send when it waits.
func asking(t *testing.T, send func(w *world, env *testsuite.TestWorkflowEnvironment, questions []*run.Question)) *world {
	t.Helper()
	w := newWorld()
	a := w.agent(t, script{{calls: []string{`{"n":1,"ask":true}`, `{"n":2,"ask":true}`}}, {calls: []string{`{"n":3,"ask":true}`}}, {text: "done"}}, agent.Options{})
	env := begin(t, a, nil)
	env.RegisterDelayedCallback(func() {
		s := queried(t, env)
		check.That(t, s.Status == run.StatusWaiting && len(s.Questions) == 2, "got state %+v, want two questions", s)
		send(w, env, ledger.Open(w.state(t)))
	}, 24*time.Hour)
	env.RegisterDelayedCallback(func() { // the last question
		for _, q := range ledger.Open(w.state(t)) {
			update(t, env, "last", q.Allow())
		}
	}, 72*time.Hour)
	env.ExecuteWorkflow("mcpchain.Run", theJob())
	finished(t, env)
	return w
}

// TestAnswers replies in any order, together or separately, once or twice. Each call runs once.
func TestAnswers(t *testing.T) {
	for name, send := range map[string]func(*testing.T, *testsuite.TestWorkflowEnvironment, []*run.Question) []*answered{
		"in order": func(t *testing.T, env *testsuite.TestWorkflowEnvironment, q []*run.Question) []*answered {
			return []*answered{update(t, env, "1", q[0].Allow()), update(t, env, "2", q[1].Allow())}
		},
		"the last first": func(t *testing.T, env *testsuite.TestWorkflowEnvironment, q []*run.Question) []*answered {
			second := update(t, env, "2", q[1].Allow())
			env.RegisterDelayedCallback(func() { update(t, env, "1", q[0].Allow()) }, time.Hour)
			return []*answered{second}
		},
		"in one update": func(t *testing.T, env *testsuite.TestWorkflowEnvironment, q []*run.Question) []*answered {
			return []*answered{update(t, env, "1", q[1].Allow(), q[0].Allow())}
		},
		"one twice at once": func(t *testing.T, env *testsuite.TestWorkflowEnvironment, q []*run.Question) []*answered {
			return []*answered{update(t, env, "1", q[0].Allow()), update(t, env, "1b", q[0].Allow()), update(t, env, "2", q[1].Allow())}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []*answered
			w := asking(t, func(_ *world, env *testsuite.TestWorkflowEnvironment, questions []*run.Question) {
				sent = send(t, env, questions)
			})
			for i, a := range sent {
				check.Equal(t, i, *a, answered{done: true})
			}
			check.Same(t, "notes", slices.Sorted(slices.Values(w.noted())), []int{1, 2, 3})
		})
	}
}

// TestAnswerIsRefused checks that an invalid reply is refused before it enters the history, or by the store, and changes nothing.
func TestAnswerIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		reply    func(q *run.Question) run.Reply
		kind     string
		rejected bool // by the workflow
	}{
		"forged": {func(q *run.Question) run.Reply {
			return run.Reply{Question: "ask_of_another_run", Action: run.ActionAllow}
		}, "NotAsked", true},
		"without question": {func(q *run.Question) run.Reply { return run.Reply{Action: run.ActionAllow} }, "NotAsked", true},
		"too large":        {func(q *run.Question) run.Reply { return q.Deny(strings.Repeat("no", 1<<19+1)) }, "Unfit", true},
		"unfit":            {func(q *run.Question) run.Reply { return run.Reply{Question: q.ID, Action: run.ActionAccept} }, "Unfit", false},
	} {
		t.Run(name, func(t *testing.T) {
			var got *answered
			asking(t, func(w *world, env *testsuite.TestWorkflowEnvironment, questions []*run.Question) {
				got = update(t, env, "bad", tt.reply(questions[0]))
				env.RegisterDelayedCallback(func() {
					s := w.state(t)
					check.That(t, s.Status == run.StatusWaiting && len(ledger.Open(s)) == 2, "the run is %s with %d questions", s.Status, len(ledger.Open(s)))
					update(t, env, "good", questions[0].Allow(), questions[1].Allow())
				}, time.Hour)
			})
			check.Equal(t, "rejected", (got.rejected != nil), tt.rejected)
			err := errors.Join(got.rejected, got.failed)
			var app *temporalsdk.ApplicationError
			check.That(t, errors.As(err, &app) && app.Type() == tt.kind && app.NonRetryable(), "got %v, want %s for good", err, tt.kind)
		})
	}
}

// TestAnswerTooLate checks that after a question is closed an equal reply changes nothing, and another one is refused.
func TestAnswerTooLate(t *testing.T) {
	var again, other *answered
	w := asking(t, func(_ *world, env *testsuite.TestWorkflowEnvironment, questions []*run.Question) {
		update(t, env, "1", questions[0].Deny("no"), questions[1].Allow())
		env.RegisterDelayedCallback(func() {
			again = update(t, env, "2", questions[0].Deny("no"))
			other = update(t, env, "3", questions[0].Allow())
		}, time.Hour)
	})
	check.Equal(t, "an equal answer", *again, answered{done: true})
	check.Equal(t, "another answer", typeOf(other.failed), "Answered")
	check.Same(t, "notes", w.noted(), []int{2, 3})
}

// TestWake checks that after a signal the workflow finds a reply that only the store has.
func TestWake(t *testing.T) {
	w := asking(t, func(w *world, env *testsuite.TestWorkflowEnvironment, questions []*run.Question) {
		check.NoError(t, record.Submit(t.Context(), w.store, key, questions[0].Allow(), questions[1].Allow()))
		env.SignalWorkflow("wake", nil)
	})
	check.Equal(t, "notes", len(w.noted()), 3)
}

// TestQuestionExpires checks that a question without a reply is denied in time, and the run continues.
func TestQuestionExpires(t *testing.T) {
	w := newWorld()
	a := w.agent(t, script{{calls: []string{`{"n":1,"ask":true}`}}, {text: "done"}}, agent.Options{Person: agent.Person{QuestionTTL: 50 * time.Millisecond}})
	env := begin(t, a, nil)
	env.SetStartTime(time.Now())
	job := theJob()
	job["after"] = 1 << 30 // the clock of the workflow is fast, so it takes many steps until the question expires
	env.ExecuteWorkflow("mcpchain.Run", job)
	finished(t, env)
	check.Equal(t, "notes of a run that is done without its call", len(w.noted()), 0)
	texts := told(w.state(t))
	check.That(t, len(texts) == 1 && strings.Contains(texts[0], "no person answered in time"), "the model is told %q", texts)
}

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
