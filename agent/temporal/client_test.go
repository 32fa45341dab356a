package temporal_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/internal/check"
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
	if _, err := c.Start(t.Context(), a, agent.Text("go"), agent.WithRun(key.ID), agent.WithTenant(key.Tenant)); err == nil || len(s.woken) != 1 {
		t.Errorf("got %v for a second input during the run, and %d workflows", err, len(s.woken))
	}
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
	check.Must(t, check.Err(w.agent(t, script{{text: "done"}}, agent.Options{}).Cancel(t.Context(), key)))
	s.On("CancelWorkflow", mock.Anything, "acme/r", "").Return(gone)
	check.NoError(t, c.Cancel(t.Context(), key))
	check.Equal(t, "workflows for a run that is over", len(s.woken), 1)
}

// TestResultWithoutWorkflow checks that the store has the result of a run whose workflow Temporal has forgotten.
func TestResultWithoutWorkflow(t *testing.T) {
	w, _ := waiting(t)
	s, h := newService(t, nil), mocks.NewWorkflowRun(t)
	s.On("GetWorkflow", mock.Anything, "acme/r", "").Return(h)
	h.On("Get", mock.Anything, nil).Return(gone)
	c := temporal.NewClient(s, w.store, nil)
	check.Is(t, check.Err(c.Result(t.Context(), key)), gone, "a run that has not ended")
	check.Must(t, check.Err(w.agent(t, script{{text: "done"}}, agent.Options{}).Cancel(t.Context(), key)))
	got := check.Value(c.Result(t.Context(), key))(t)
	check.Equal(t, "status", got.Status, run.StatusCancelled)
}

// TestWorkflowID checks that different runs have different workflows.
func TestWorkflowID(t *testing.T) {
	seen := map[string]run.Key{}
	for _, k := range []run.Key{{ID: "b"}, {Tenant: "a", ID: "b"}, {ID: "a/b"}, {Tenant: "a/b", ID: "c"}, {Tenant: "a", ID: "b/c"}, {ID: "a%2Fb"}} {
		id := temporal.WorkflowID(k)
		other, ok := seen[id]
		check.That(t, !ok, "%v and %v have the id %q", k, other, id)
		seen[id] = k
	}
	check.Equal(t, "id", temporal.WorkflowID(run.Key{ID: "run_1"}), "run_1")
	w, s := newWorld(), newService(t, nil)
	c := temporal.NewClient(s, w.store, nil)
	long := agent.WithRun(strings.Repeat("x", 1001))
	_, err := c.Start(t.Context(), w.agent(t, script{{text: "done"}}, agent.Options{}), agent.Text("go"), long)
	check.That(t, err != nil && len(s.woken) == 0, "got %v for an id that is too long", err)
}
