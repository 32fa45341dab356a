package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/mocks"
	temporalsdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/internal/check"
)

// steps takes steps without a workflow, in several environments of one worker.
type steps struct {
	worker.ActivityRegistry // for methods that are not used
	envs                    []*testsuite.TestActivityEnvironment
}

func (steps) RegisterWorkflow(any)                                         {}
func (steps) RegisterWorkflowWithOptions(any, workflow.RegisterOptions)    {}
func (steps) RegisterDynamicWorkflow(any, workflow.DynamicRegisterOptions) {}

func (s steps) RegisterActivityWithOptions(a any, o activity.RegisterOptions) {
	for _, env := range s.envs {
		env.RegisterActivityWithOptions(a, o)
	}
}

func (s steps) take(i int, tenant, id string) error {
	_, err := s.envs[i].ExecuteActivity("mcpchain.Step", map[string]string{"tenant": tenant, "id": id, "agent": "helper"})
	return err
}

func workerOf(t *testing.T, a *agent.Agent, stop chan struct{}, o *temporal.WorkerOptions) steps {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent)
	var s steps
	for range 3 {
		env := suite.NewTestActivityEnvironment()
		env.SetTestTimeout(time.Minute)
		env.SetWorkerStopChannel(stop)
		s.envs = append(s.envs, env)
	}
	check.Must(t, temporal.Register(s, []*agent.Agent{a}, o))
	return s
}

func isLimit(err error) bool {
	var app *temporalsdk.ApplicationError
	return errors.As(err, &app) && app.Type() == "TenantLimit" && !app.NonRetryable() && app.NextRetryDelay() > 0
}

// working waits until a call has begun.
func working(t *testing.T, w *world, ended <-chan error) {
	t.Helper()
	select {
	case <-w.began:
	case err := <-ended:
		t.Fatalf("the step has ended: %v", err)
	}
}

// TestTenantSteps checks that each tenant has its own limit in a worker, and that a step beyond it waits at Temporal.
func TestTenantSteps(t *testing.T) {
	w := newWorld()
	a := w.agent(t, script{{calls: []string{`{"n":1,"hang":true}`}}}, agent.Options{})
	stop := make(chan struct{})
	s := workerOf(t, a, stop, &temporal.WorkerOptions{Grace: time.Millisecond, TenantSteps: 1})
	for _, k := range []run.Key{{Tenant: "a", ID: "1"}, {Tenant: "a", ID: "2"}, {Tenant: "b", ID: "1"}} {
		check.Must(t, check.Err(a.Begin(t.Context(), agent.Text("go"), agent.WithRun(k.ID), agent.WithTenant(k.Tenant))))
	}
	ended := make(chan error, 2)
	go func() { ended <- s.take(0, "a", "1") }()
	working(t, w, ended)
	err := s.take(1, "a", "2")
	check.That(t, isLimit(err), "got %v, want the limit of the tenant", err)
	go func() { ended <- s.take(2, "b", "1") }()
	working(t, w, ended) // does not count for the limit
	close(stop)
	for range 2 {
		err := <-ended
		check.That(t, err != nil && !isLimit(err), "got %v, want the end of the worker", err)
	}
}

// TestContextAndEvents checks that tool calls get the host's context, and the host gets events.
func TestContextAndEvents(t *testing.T) {
	type user struct{}
	w := newWorld()
	var seen []string
	a := w.agent(t, script{{text: "done"}}, agent.Options{Hooks: []agent.Hook{{BeforeModel: func(ctx context.Context, _ *agent.State, _ *model.Request) error {
		seen = append(seen, fmt.Sprint(ctx.Value(user{})))
		return nil
	}}}})
	s := workerOf(t, a, nil, &temporal.WorkerOptions{
		Context: func(ctx context.Context, k run.Key) context.Context { return context.WithValue(ctx, user{}, k.Tenant) },
		OnEvent: func(k run.Key, e agent.Event) { seen = append(seen, fmt.Sprintf("%s %T", k.Tenant, e)) },
	})
	check.Must(t, check.Err(a.Begin(t.Context(), agent.Text("go"), agent.WithRun(key.ID), agent.WithTenant(key.Tenant))))
	check.Must(t, s.take(0, key.Tenant, key.ID))
	check.Equal(t, "", fmt.Sprint(seen), "[acme acme *agent.ModelStart acme *agent.ModelEnd acme *agent.TurnEnd acme *agent.Output]")
}

// TestWork refuses agents with equal names, no agent, and invalid numbers.
func TestWork(t *testing.T) {
	a := newWorld().agent(t, script{{text: "done"}}, agent.Options{})
	check.Fails(t, temporal.Work(t.Context(), mocks.NewClient(t), nil, nil), "no agents")
	check.Fails(t, temporal.Work(t.Context(), mocks.NewClient(t), []*agent.Agent{a, a}, nil), "two of a name")
	check.Text(t, temporal.Work(t.Context(), mocks.NewClient(t), []*agent.Agent{a, nil}, nil), "agents[1] is nil")
	negative := &temporal.WorkerOptions{Grace: -time.Second}
	check.Fails(t, temporal.Work(t.Context(), mocks.NewClient(t), []*agent.Agent{a}, negative), "a negative time")
}

// A worker tries again when the lease of a held run ends, and not constantly if it is still valid by the clock of the store.
func TestPatience(t *testing.T) {
	const lease = 15 * time.Second
	for left, want := range map[time.Duration]time.Duration{-time.Hour: lease / 50, -time.Millisecond: lease / 50, time.Hour: lease / 6} {
		check.Equal(t, left, temporal.Patience(&record.HeldError{Until: time.Now().Add(left)}, lease), want)
	}
	check.Equal(t, "no end is known", temporal.Patience(record.ErrHeld, lease), lease/50)
}
