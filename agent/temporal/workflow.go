package temporal

import (
	"errors"
	"slices"
	"time"

	temporalsdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Names that histories of workflows contain.
const (
	runWorkflow    = "mcpchain.Run"
	stepActivity   = "mcpchain.Step"
	beginActivity  = "mcpchain.Begin"
	replyActivity  = "mcpchain.Answer"
	cancelActivity = "mcpchain.Cancel"
	replyUpdate    = "answer"
	wakeSignal     = "wake"
	stateQuery     = "state"
)

// target is a run and its agent.
type target struct {
	Tenant string `json:"tenant,omitzero"`
	ID     string `json:"id"`
	Agent  string `json:"agent"`
}

func (t target) key() run.Key { return run.Key{Tenant: t.Tenant, ID: t.ID} }

// job is the input of a workflow.
type job struct {
	Target     target        `json:"target"`
	Attributes bool          `json:"attributes,omitzero"` // keep the search attributes up to date
	After      int           `json:"after"`               // continue as new after this many steps
	Steps      int           `json:"steps,omitzero"`      // taken so far
	Taken      []string      `json:"taken,omitempty"`     // the last questions with a reply
	Begin      []run.Message `json:"begin,omitempty"`     // from a schedule: begin the run with it
}

// progress is the result of a step.
type progress struct {
	Status run.Status `json:"status"`
	Asks   []string   `json:"asks,omitempty"` // ids of the open questions
	Wake   time.Time  `json:"wake,omitzero"`
}

// state is what a workflow knows about its run, the result of its query. It contains no secrets and
// no text of a model or person; those are in the store.
type state struct {
	Agent     string     `json:"agent"`
	Status    run.Status `json:"status"`
	Questions []string   `json:"asks,omitempty"` // ids of the open questions
	Wake      time.Time  `json:"wake,omitzero"`  // when a waiting run continues without a reply
	Steps     int        `json:"steps"`
}

// outcome is the result of a workflow. The result of the run is in the store.
type outcome struct {
	Status run.Status `json:"status"`
}

// runFailed is the type of the application error of a workflow whose run has failed. The reason
// is in the store.
const runFailed = "RunFailed"

// workflows implements the workflows of a worker. Its settings may differ between the workers of
// one workflow.
type workflows struct {
	step, quick workflow.ActivityOptions
}

// driver is an execution of the workflow of a run.
type driver struct {
	*workflows
	job        job
	state      state
	isStepping bool                    // a step is in progress
	accepted   int                     // how often the store has accepted replies
	wake       workflow.ReceiveChannel // the signals by which a client makes the run look for replies
}

// run drives a run until it has ended. It continues as new after j.After steps, and sooner if
// Temporal suggests that. If the workflow is cancelled, it cancels the run.
func (w *workflows) run(ctx workflow.Context, j job) (outcome, error) {
	d := &driver{workflows: w, job: j, wake: workflow.GetSignalChannel(ctx, wakeSignal)}
	d.state = state{Agent: j.Target.Agent, Status: run.StatusRunning, Steps: j.Steps}
	if err := d.serve(ctx); err != nil {
		return outcome{}, err
	}
	if len(j.Begin) > 0 {
		if err := d.begin(ctx); err != nil {
			return outcome{}, err
		}
	}
	for n := 0; ; n++ {
		isLast := n >= max(j.After, 1) || n > 0 && workflow.GetInfo(ctx).GetContinueAsNewSuggested()
		// The next execution would not know that this one was cancelled.
		if isLast && d.awaitHandlers(ctx) == nil && ctx.Err() == nil {
			d.drain()
			d.job.Steps = d.state.Steps
			return outcome{}, workflow.NewContinueAsNewError(ctx, runWorkflow, d.job)
		}
		if ctx.Err() != nil {
			return d.cancel(ctx)
		}
		d.drain()
		accepted := d.accepted
		err := d.advance(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return d.cancel(ctx)
		case err != nil:
			return outcome{}, err
		case d.state.Status == run.StatusWaiting:
			_ = d.wait(ctx, accepted) // its error is the context's
		case d.state.Status.Ended() && !d.hasMissed(ctx, accepted):
			return d.outcome()
		}
	}
}

func (d *driver) serve(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, stateQuery, func() (state, error) { return d.state, nil }); err != nil {
		return err
	}
	options := workflow.UpdateHandlerOptions{Validator: d.checkReplies}
	return workflow.SetUpdateHandlerWithOptions(ctx, replyUpdate, d.reply, options)
}

// advance lets a worker take a step, and adopts the status of the run.
func (d *driver) advance(ctx workflow.Context) error {
	d.isStepping = true
	defer func() { d.isStepping = false }()
	var p progress
	ctx = workflow.WithActivityOptions(ctx, d.step)
	if err := workflow.ExecuteActivity(ctx, stepActivity, d.job.Target).Get(ctx, &p); err != nil {
		return err
	}
	d.state.Steps++
	d.state.Questions, d.state.Wake = p.Asks, p.Wake
	return d.setStatus(ctx, p.Status)
}

// setStatus sets the status of the run, and the search attribute if there are any.
func (d *driver) setStatus(ctx workflow.Context, s run.Status) error {
	if d.state.Status == s {
		return nil
	}
	d.state.Status = s
	if !d.job.Attributes {
		return nil
	}
	key := temporalsdk.NewSearchAttributeKeyKeyword(statusAttribute)
	return workflow.UpsertTypedSearchAttributes(ctx, key.ValueSet(string(s)))
}

// minWait is the wait before another step of a run that is due but did not continue, because
// clocks differ.
const minWait = time.Second

// wait waits until d.accepted exceeds accepted, for a signal, the run's wake-up time, or the end of the
// context.
func (d *driver) wait(ctx workflow.Context, accepted int) error {
	isReady := func() bool { return d.accepted > accepted || d.wake.Len() > 0 }
	if d.state.Wake.IsZero() {
		return workflow.Await(ctx, isReady)
	}
	_, err := workflow.AwaitWithTimeout(ctx, max(d.state.Wake.Sub(workflow.Now(ctx)), minWait), isReady)
	return err
}

// hasMissed reports whether a reply or a signal may have arrived since the last step began. accepted
// is what d.accepted was then.
func (d *driver) hasMissed(ctx workflow.Context, accepted int) bool {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	return d.awaitHandlers(ctx) != nil || d.accepted != accepted || d.wake.Len() > 0
}

func (d *driver) awaitHandlers(ctx workflow.Context) error {
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// drain removes all signals: the next step sees what they announce.
func (d *driver) drain() {
	for d.wake.ReceiveAsync(nil) {
	}
}

// cancel cancels the run unless it has ended.
func (d *driver) cancel(ctx workflow.Context) (outcome, error) {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	var status run.Status
	ctx = workflow.WithActivityOptions(ctx, d.quick)
	if err := workflow.ExecuteActivity(ctx, cancelActivity, d.job.Target).Get(ctx, &status); err != nil {
		return outcome{}, err
	}
	d.state.Questions, d.state.Wake = nil, time.Time{}
	if err := errors.Join(d.setStatus(ctx, status), d.awaitHandlers(ctx)); err != nil {
		return outcome{}, err
	}
	return d.outcome()
}

// outcome returns the result of the workflow, an error if the run has failed or was cancelled.
func (d *driver) outcome() (outcome, error) {
	switch d.state.Status {
	case run.StatusFailed:
		return outcome{}, temporalsdk.NewNonRetryableApplicationError("the run has failed; the store has the reason", runFailed, nil)
	case run.StatusCancelled:
		return outcome{}, temporalsdk.NewCanceledError()
	}
	return outcome{d.state.Status}, nil
}

// recordReplies records that the store has accepted replies. It keeps the last maxTaken questions.
func (d *driver) recordReplies(replies []run.Reply) {
	d.accepted++
	for _, r := range replies {
		if !slices.Contains(d.job.Taken, r.Question) {
			d.job.Taken = append(d.job.Taken, r.Question)
		}
	}
	if n := len(d.job.Taken) - maxTaken; n > 0 {
		d.job.Taken = slices.Clone(d.job.Taken[n:])
	}
}
