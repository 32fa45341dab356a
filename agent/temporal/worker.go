package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	temporalsdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// defaultQueue is the default task queue of workers and clients.
const defaultQueue = "mcpchain"

// WorkerOptions configure [Work]. Nil and the zero value are valid; a negative number is refused.
type WorkerOptions struct {
	// Queue is the task queue. All workers of a queue must have the same agents. Default
	// "mcpchain".
	Queue string

	// Steps bounds the concurrent steps. Default 100.
	Steps int

	// TenantSteps bounds the concurrent steps of each tenant in this worker. A step beyond it waits
	// at Temporal without occupying the worker. Temporal itself is fair to tenants among the
	// workers of a queue: each workflow has its tenant as fairness key. Default: no limit.
	TenantSteps int

	// Grace is how long steps may continue after the worker is told to stop. Default 20 s.
	Grace time.Duration

	// OnEvent is called with the events of this worker's steps, concurrently. [agent.Agent.Replay]
	// has all events of a run, from all workers. Default: none.
	OnEvent func(key run.Key, e agent.Event)

	// Context returns the context for the tool calls of a run, for example with the identity of
	// its tenant for adapter.ContextHeaders. Default: the context of the worker.
	Context func(ctx context.Context, key run.Key) context.Context

	// Logger logs failures. Default [slog.Default].
	Logger *slog.Logger
}

// The defaults of WorkerOptions.
const (
	defaultSteps = 100
	defaultGrace = 20 * time.Second
)

// withDefaults returns a copy of the options with their defaults. It refuses negative numbers.
func (o *WorkerOptions) withDefaults() (WorkerOptions, error) {
	out := *cmp.Or(o, new(WorkerOptions))
	if out.Steps < 0 || out.Grace < 0 || out.TenantSteps < 0 {
		return out, errors.New("options: a number is negative; give 0 for the default")
	}
	out.Queue = cmp.Or(out.Queue, defaultQueue)
	out.Steps = cmp.Or(out.Steps, defaultSteps)
	out.Grace = cmp.Or(out.Grace, defaultGrace)
	out.Logger = cmp.Or(out.Logger, slog.Default())
	return out, nil
}

// maxPulse is the longest time between heartbeats of a step, by which it learns that its run is
// cancelled.
const maxPulse = 5 * time.Second

// Work executes the steps of runs of the agents until the context ends. Then it waits until current steps
// have ended or other workers can take them, which takes [WorkerOptions.Grace] and some seconds at most, and
// returns the context's error. If the worker fails it returns that error. The agents must have different
// names and a store that all workers share. The step of a dead worker is repeated after the agents' LeaseTTL.
func Work(ctx context.Context, service client.Client, agents []*agent.Agent, opts *WorkerOptions) error {
	flows, acts, err := newImplementation(agents, opts)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	failed := make(chan error, 1)
	w := worker.New(service, acts.opts.Queue, worker.Options{
		MaxConcurrentActivityExecutionSize: acts.opts.Steps,
		WorkerStopTimeout:                  acts.opts.Grace + stopReserve,
		MaxHeartbeatThrottleInterval:       acts.pulse,
		StickyScheduleToStartTimeout:       stickyTimeout,
		OnFatalError: func(err error) {
			select {
			case failed <- err:
			default:
			}
		},
	})
	register(w, flows, acts)
	if err := w.Start(); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	select {
	case <-ctx.Done():
		w.Stop()
		return ctx.Err()
	case err := <-failed: // the worker has stopped
		return fmt.Errorf("run worker: %w", err)
	}
}

// stepTimeout bounds a step: a model call and the tool calls of its reply. It exceeds the default limit
// of a tool call. A longer step is repeated.
const stepTimeout = 25 * time.Hour

// stickyTimeout is how long a workflow waits for the worker that has it in memory, which may be
// dead.
const stickyTimeout = time.Second

// stopReserve is the time in which a step returns after it is told to stop.
const stopReserve = 10 * time.Second

// newImplementation returns the workflows and activities that a worker registers. It is an error if
// there are no agents, one is nil, two have one name, or an option is negative.
func newImplementation(agents []*agent.Agent, opts *WorkerOptions) (*workflows, *activities, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, nil, err
	}
	a := &activities{opts: o, agents: map[string]*agent.Agent{}, pulse: maxPulse}
	a.tenants = &tenants{limit: o.TenantSteps, steps: map[string]int{}}
	var lease time.Duration
	for i, helper := range agents {
		if helper == nil {
			return nil, nil, fmt.Errorf("agents[%d] is nil: check the error of its constructor", i)
		}
		if a.agents[helper.Name()] != nil {
			return nil, nil, fmt.Errorf("two agents have the name %q", helper.Name())
		}
		a.agents[helper.Name()] = helper
		lease = max(lease, helper.LeaseTTL())
		a.pulse = min(a.pulse, helper.LeaseTTL()/6)
	}
	if len(agents) == 0 {
		return nil, nil, errors.New("there are no agents")
	}
	retry := &temporalsdk.RetryPolicy{
		BackoffCoefficient: 2,
		InitialInterval:    20 * time.Millisecond,
		MaximumInterval:    30 * time.Second,
	}
	// Temporal's timers are up to a second late, and two of them precede the repetition of a
	// step. The lease of the dead worker should expire by then, but not later.
	return &workflows{
		step: workflow.ActivityOptions{
			StartToCloseTimeout: stepTimeout, HeartbeatTimeout: lease * 2 / 5, WaitForCancellation: true, RetryPolicy: retry,
		},
		quick: workflow.ActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: retry},
	}, a, nil
}

// Register registers the workflow and activities of agents with a worker of your own, for other
// options of Temporal's worker than [Work] sets. It ignores Queue and Steps. Steps have all of Grace
// only if the worker's WorkerStopTimeout is at least Grace + 10 s, as Work sets it. A
// worker.WorkflowReplayer gets only the workflow.
func Register(r worker.WorkflowRegistry, agents []*agent.Agent, opts *WorkerOptions) error {
	flows, acts, err := newImplementation(agents, opts)
	if err != nil {
		return fmt.Errorf("register agents: %w", err)
	}
	register(r, flows, acts)
	return nil
}

// register registers the workflow and, with a registry of activities, the activities.
func register(r worker.WorkflowRegistry, w *workflows, a *activities) {
	r.RegisterWorkflowWithOptions(w.run, workflow.RegisterOptions{Name: runWorkflow})
	if r, ok := r.(worker.ActivityRegistry); ok {
		r.RegisterActivityWithOptions(a.step, activity.RegisterOptions{Name: stepActivity})
		r.RegisterActivityWithOptions(a.begin, activity.RegisterOptions{Name: beginActivity})
		r.RegisterActivityWithOptions(a.reply, activity.RegisterOptions{Name: replyActivity})
		r.RegisterActivityWithOptions(a.cancel, activity.RegisterOptions{Name: cancelActivity})
	}
}
