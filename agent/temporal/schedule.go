package temporal

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	temporalsdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// ScheduleAction returns the action of a Temporal schedule that begins a new run each time. The id of
// the run is that of the key and the scheduled time, as in "report-2030-01-02T03:00:00Z":
//
//	action, err := c.ScheduleAction(helper, run.Key{Tenant: "acme", ID: "report"}, agent.Text("Write the report."))
//	…
//	service.ScheduleClient().Create(ctx, client.ScheduleOptions{
//		ID:     "acme-report",
//		Spec:   client.ScheduleSpec{CronExpressions: []string{"0 3 * * *"}},
//		Action: action,
//	})
//
// The schedule and the histories of its workflows contain the input. A worker begins the run. The
// tenant is its fairness key. It is an error if the id of the workflow would exceed the 1,000 bytes
// that Temporal accepts, or if there are no messages.
func (c *Client) ScheduleAction(a *agent.Agent, key run.Key, in []run.Message) (*client.ScheduleWorkflowAction, error) {
	if len(in) == 0 {
		return nil, fmt.Errorf("schedule runs %q: there are no messages; give at least one", key.ID)
	}
	t := target{Tenant: key.Tenant, Agent: a.Name()}
	id := escapedID(key)
	if n := len(id + timeOfSchedule); n > maxWorkflowID {
		return nil, fmt.Errorf("schedule runs %q: with the time, the workflow id has %d bytes; Temporal takes %d", key.ID, n, maxWorkflowID)
	}
	return &client.ScheduleWorkflowAction{
		ID: id, Workflow: runWorkflow, TaskQueue: c.opts.Queue, WorkflowTaskTimeout: taskTimeout,
		TypedSearchAttributes: c.attributes(t), Priority: priority(t),
		Args: []any{c.job(t, in)},
	}, nil
}

// timeOfSchedule is an example of what a schedule appends to the id of a workflow.
const timeOfSchedule = "-2030-01-02T03:00:00Z"

// runOf returns the id of the run that belongs to a workflow's id.
func runOf(workflow, tenant string) (string, error) {
	prefix := ""
	if tenant != "" {
		prefix = url.PathEscape(tenant) + "/"
	}
	rest, ok := strings.CutPrefix(workflow, prefix)
	id, err := url.PathUnescape(rest)
	if !ok || err != nil || WorkflowID(run.Key{Tenant: tenant, ID: id}) != workflow {
		text := fmt.Sprintf("the workflow %q is not a run of tenant %q", workflow, tenant)
		return "", temporalsdk.NewNonRetryableApplicationError(text, "NoRun", err)
	}
	return id, nil
}

// begin lets a worker begin the run of a schedule, which has the id of the workflow. A workflow
// that is cancelled meanwhile begins it nevertheless; run then cancels it, so that it is not
// left due.
func (d *driver) begin(ctx workflow.Context) error {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	in := d.job.Begin
	d.job.Begin = nil
	ctx = workflow.WithActivityOptions(ctx, d.quick)
	return workflow.ExecuteActivity(ctx, beginActivity, d.job.Target, in).Get(ctx, &d.job.Target.ID)
}

// begin begins the run of a workflow, once, and returns its id.
func (a *activities) begin(ctx context.Context, t target, in []run.Message) (id string, err error) {
	helper, err := a.agent(t)
	if err != nil {
		return "", err
	}
	if id, err = runOf(activity.GetInfo(ctx).WorkflowExecution.ID, t.Tenant); err != nil {
		return "", err
	}
	_, err = helper.Begin(ctx, in, agent.WithRun(id), agent.WithTenant(t.Tenant), agent.WithNewRun())
	if errors.Is(err, record.ErrExists) { // an earlier attempt has begun it
		return id, nil
	}
	return id, refusal(err)
}
