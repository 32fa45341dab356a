package service

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// orders is a client of Temporal that keeps which workflows are wanted.
type orders struct {
	*mocks.Client

	mu    sync.Mutex
	woken []string
}

var away = serviceerror.NewUnavailable("away")

func newOrders(t *testing.T, err error) *orders {
	o := &orders{Client: mocks.NewClient(t)}
	o.On("SignalWithStartWorkflow", mock.Anything, mock.Anything, "wake", nil, mock.Anything, "mcpchain.Run", mock.Anything).Maybe().
		Run(func(args mock.Arguments) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.woken = append(o.woken, args.Get(4).(client.StartWorkflowOptions).ID)
		}).Return(nil, err)
	return o
}

func (o *orders) workflows() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.woken)
}

// atTemporal has a service leave its runs to Temporal, as a front does.
func atTemporal(t *testing.T, c client.Client) func(*service) {
	return func(s *service) {
		o := settings(t, "-temporal", "t:1", "-queue", "q")
		o.role = front
		s.engine = newRemote(c, s.agent, s.store, o, s.logger)
	}
}

// TestFrontOfTemporal begins, answers and stops runs whose workflows are elsewhere.
func TestFrontOfTemporal(t *testing.T) {
	gone := serviceerror.NewNotFound("no such workflow")
	for name, err := range map[string]error{"reached": nil, "away": away} {
		t.Run(name, func(t *testing.T) {
			c := newOrders(t, err)
			var s *service
			url := start(t, settings(t), func(made *service) { s = made; atTemporal(t, c)(made) })
			ada, bob := person{t, url, "demo-ada"}, person{t, url, "demo-bob"}
			id := ada.run("Book a table for 4 at Luigi")
			check.Equal(t, "a run that is kept, whatever Temporal says", ada.state(id).Status, run.StatusRunning)
			check.Same(t, "workflows", c.workflows(), []string{"ada/" + id})
			check.Must(t, check.Err(s.agent.Advance(context.Background(), run.Key{Tenant: "ada", ID: id}, nil))) // as a worker does
			q := ada.settled(id).Asks[0]
			c.On("UpdateWorkflow", mock.Anything, mock.Anything).Return(nil, gone)
			check.Equal(t, "another user's answer", bob.answer(id, q.ID, `"action":"deny"`), http.StatusNotFound)
			want := map[error]int{nil: http.StatusNoContent, away: http.StatusServiceUnavailable}[err]
			if code := ada.answer(id, q.ID, `"action":"deny"`); code != want || len(c.workflows()) != 2 {
				t.Errorf("an answer: got %d and workflows %q, want %d, and the workflow once more", code, c.workflows(), want)
			}
			c.On("CancelWorkflow", mock.Anything, "ada/"+id, "").Return(err)
			want = map[error]int{nil: http.StatusAccepted, away: http.StatusServiceUnavailable}[err]
			check.Equal(t, "a stop", ada.code("DELETE", "/runs/"+id, ""), want)
		})
	}
}

// TestWorkerOfTemporal plays the workflow of a run in the worker of the service: its tools know the user.
func TestWorkerOfTemporal(t *testing.T) {
	o := settings(t, "-temporal", "t:1")
	s, _ := assembled(t, settings(t))
	for _, user := range []string{"ada", "bob"} {
		key := check.Value(s.agent.Begin(t.Context(), agent.Text("call whoami"), runOptions(user, "", "")...))(t)
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(log.NewStructuredLogger(s.logger))
		env := suite.NewTestWorkflowEnvironment()
		env.SetTestTimeout(time.Minute)
		env.SetWorkerOptions(sdkworker.Options{DeadlockDetectionTimeout: time.Minute})
		check.Must(t, temporal.Register(env, []*agent.Agent{s.agent}, o.forWorker(s.logger)))
		env.ExecuteWorkflow("mcpchain.Run", map[string]any{"after": 100, "target": map[string]any{"tenant": user, "id": key.ID, "agent": s.agent.Name()}})
		check.Must(t, env.GetWorkflowError())
		log := check.Value(s.store.Load(t.Context(), key))(t)
		state, err := ledger.StateOf(log.Records)
		want := "the user " + user + "."
		check.That(t, err == nil && state.Status == run.StatusFinished && strings.Contains(state.Output, want), "got %s %q, %v, want %q of the server", state.Status, state.Output, err, want)
	}
}

// TestResume gives runs to Temporal that no workflow drives. One that is damaged comes first. A second search leaves
// alone what the first has found, unless Temporal could not be reached.
func TestResume(t *testing.T) {
	for name, test := range map[string]struct {
		err         error
		want, again int
	}{"reached": {nil, 2, 2}, "away": {away, 1, 2}, "refused": {errors.New("no"), 2, 2}} {
		t.Run(name, func(t *testing.T) {
			s, _ := assembled(t, settings(t))
			for _, id := range []string{"damaged", "one", "two"} {
				check.Must(t, check.Err(s.agent.Begin(t.Context(), agent.Text("hi"), runOptions("ada", id, "hi")...)))
			}
			check.Must(t, check.Err(s.db.ExecContext(t.Context(), `UPDATE mcpchain_records SET sum = sum + 1 WHERE run = (SELECT num FROM mcpchain_runs WHERE id = 'damaged')`)))
			c := newOrders(t, test.err)
			atTemporal(t, c)(s)
			s.engine.(*remote).resume(t.Context(), time.Now().Add(-time.Hour))
			got := c.workflows()
			check.That(t, len(got) == 0, "got %q, want that runs of this hour are left alone", got)
			s.engine.(*remote).resume(t.Context(), time.Now().Add(time.Hour))
			got = c.workflows()
			check.That(t, len(got) == test.want && got[0] == "ada/one", "got %q, want %d of one and two", got, test.want)
			s.engine.(*remote).resume(t.Context(), time.Now().Add(time.Hour))
			check.Equal(t, "workflows after another search", len(c.workflows()), test.again)
			gone, leave := context.WithCancel(t.Context())
			leave()
			s.engine.drive(gone, run.Key{Tenant: "ada", ID: "two"}) // for a client that has left
			check.Equal(t, "workflows after a drive", len(c.workflows()), test.again+1)
		})
	}
}
