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

// DefaultQueue is the task queue of workers and clients that name none.
const DefaultQueue = "mcpchain"

// WorkerOptions configure a [Worker]. Nil and the zero value are valid.
type WorkerOptions struct {
	// Queue is the task queue. Workers of a queue have the same agents. Default [DefaultQueue].
	Queue string

	// Steps bounds the steps that are taken at the same time. Default 100.
	Steps int

	// Tenant bounds the steps of each tenant in this worker. Among the workers of a queue
	// Temporal is fair to tenants by itself: each workflow has its tenant as fairness key.
	Tenant TenantLimits

	// Grace is how long steps may go on after the worker is told to stop. Default 20 s.
	Grace time.Duration

	// StepTimeout bounds a step: a call of the model and the tool calls of its reply. A step that takes
	// longer is repeated. Default 25 h, longer than a tool call may take by default.
	StepTimeout time.Duration

	// OnEvent gets the events of the steps of this worker, on several goroutines. All events of a run,
	// whoever took its steps, come from [agent.Agent.Replay]. Default: none.
	OnEvent func(key run.Key, e agent.Event)

	// Context makes the context of the tool calls of a run, for example with the identity of
	// its tenant for [adapter.ContextHeaders]. Default: the context of the worker.
	Context func(ctx context.Context, key run.Key) context.Context

	// Logger gets what fails. Default [slog.Default].
	Logger *slog.Logger

	// SDK has further options of Temporal's worker. The fields above go before it.
	SDK worker.Options
}

func (o *WorkerOptions) withDefaults() (WorkerOptions, error) {
	var out WorkerOptions
	if o != nil {
		out = *o
	}
	if out.Steps < 0 || out.Grace < 0 || out.StepTimeout < 0 || out.Tenant.Steps < 0 || out.Tenant.PerSecond < 0 {
		return out, errors.New("options: a number is negative; give 0 for the default")
	}
	out.Queue = cmp.Or(out.Queue, DefaultQueue)
	out.Steps = cmp.Or(out.Steps, 100)
	out.Grace = cmp.Or(out.Grace, 20*time.Second)
	out.StepTimeout = cmp.Or(out.StepTimeout, 25*time.Hour)
	out.Logger = cmp.Or(out.Logger, slog.Default())
	return out, nil
}

// Worker takes the steps of runs.
type Worker struct {
	worker worker.Worker
	failed chan error
}

// longestPulse is between signs of life of a step. A cancelled run learns of it at the next one.
const longestPulse = 5 * time.Second

// NewWorker returns a worker for the runs of the agents, which have different names and a store
// that all workers share. Their LeaseTTL is the time after which the step of a dead worker is
// repeated.
func NewWorker(service client.Client, agents []*agent.Agent, o *WorkerOptions) (*Worker, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("new worker: %w", err)
	}
	w := &Worker{failed: make(chan error, 1)}
	flows, acts, err := parts(agents, &opts)
	if err != nil {
		return nil, fmt.Errorf("new worker: %w", err)
	}
	sdk := opts.SDK
	sdk.MaxConcurrentActivityExecutionSize = opts.Steps
	sdk.WorkerStopTimeout = opts.Grace + stopReserve
	sdk.MaxHeartbeatThrottleInterval = acts.pulse
	if sdk.StickyScheduleToStartTimeout == 0 {
		sdk.StickyScheduleToStartTimeout = longestSticky
	}
	fatal := sdk.OnFatalError
	sdk.OnFatalError = func(err error) {
		if fatal != nil {
			fatal(err)
		}
		select {
		case w.failed <- err:
		default:
		}
	}
	w.worker = worker.New(service, opts.Queue, sdk)
	register(w.worker, flows, acts)
	return w, nil
}

// longestSticky is how long a workflow waits for the worker that has it in memory: it may be dead.
const longestSticky = time.Second

// stopReserve is the time in which a step that has to stop returns.
const stopReserve = 10 * time.Second

// parts makes what a worker registers.
func parts(agents []*agent.Agent, o *WorkerOptions) (*workflows, *activities, error) {
	a := &activities{
		agents: map[string]*agent.Agent{}, tenants: newTenants(o.Tenant), pulse: longestPulse, grace: o.Grace,
		onEvent: o.OnEvent, context: o.Context, logger: o.Logger,
	}
	var lease time.Duration
	for _, one := range agents {
		if a.agents[one.Name()] != nil {
			return nil, nil, fmt.Errorf("two agents have the name %q", one.Name())
		}
		a.agents[one.Name()] = one
		lease = max(lease, one.LeaseTTL())
		a.pulse = min(a.pulse, one.LeaseTTL()/6)
	}
	if len(agents) == 0 {
		return nil, nil, errors.New("there are no agents")
	}
	retry := &temporalsdk.RetryPolicy{BackoffCoefficient: 2, InitialInterval: 20 * time.Millisecond, MaximumInterval: 30 * time.Second}
	// Temporal's timers are up to a second late, and two come before a step is repeated. By then the lease
	// of the dead worker is to have expired, and no later.
	return &workflows{
		step: workflow.ActivityOptions{
			StartToCloseTimeout: o.StepTimeout, HeartbeatTimeout: lease * 2 / 5, WaitForCancellation: true, RetryPolicy: retry,
		},
		quick: workflow.ActivityOptions{StartToCloseTimeout: time.Minute, RetryPolicy: retry},
	}, a, nil
}

// Register has a worker of the host's drive the runs of agents, see [NewWorker]; of the
// options those count that are not the worker's own. A worker.WorkflowReplayer takes the workflow alone.
func Register(r worker.WorkflowRegistry, agents []*agent.Agent, o *WorkerOptions) error {
	opts, err := o.withDefaults()
	if err != nil {
		return fmt.Errorf("register agents: %w", err)
	}
	flows, acts, err := parts(agents, &opts)
	if err != nil {
		return fmt.Errorf("register agents: %w", err)
	}
	register(r, flows, acts)
	return nil
}

func register(r worker.WorkflowRegistry, w *workflows, a *activities) {
	r.RegisterWorkflowWithOptions(w.run, workflow.RegisterOptions{Name: runWorkflow})
	if r, ok := r.(worker.ActivityRegistry); ok {
		r.RegisterActivityWithOptions(a.step, activity.RegisterOptions{Name: stepActivity})
		r.RegisterActivityWithOptions(a.begin, activity.RegisterOptions{Name: beginActivity})
		r.RegisterActivityWithOptions(a.answer, activity.RegisterOptions{Name: answerActivity})
		r.RegisterActivityWithOptions(a.cancel, activity.RegisterOptions{Name: cancelActivity})
	}
}

// Run takes steps until the context ends. It then returns when the steps under way have ended
// or are left to other workers, after [WorkerOptions.Grace] at most and some seconds, with the context's error; or it
// returns the error for which the worker cannot go on.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.worker.Start(); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	select {
	case <-ctx.Done():
		w.worker.Stop()
		return ctx.Err()
	case err := <-w.failed: // the worker has stopped
		return fmt.Errorf("run worker: %w", err)
	}
}
