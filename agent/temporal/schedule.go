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

// Scheduled is the action of a schedule of Temporal that begins a run of its own each time. The id of the
// run is the key's and the time that the schedule names, such as "report-2030-01-02T03:00:00Z":
//
//	action, err := c.Scheduled(helper, run.Key{Tenant: "acme", ID: "report"}, agent.Text("Write the report."))
//	…
//	service.ScheduleClient().Create(ctx, client.ScheduleOptions{
//		ID:     "acme-report",
//		Spec:   client.ScheduleSpec{CronExpressions: []string{"0 3 * * *"}},
//		Action: action,
//	})
//
// The schedule has the input, and so have the histories of its workflows. A worker begins the run, and it is
// like others from then on. The tenant is its fairness key. The error says that the id of its workflow would be
// longer than the 1000 bytes that Temporal takes.
func (c *Client) Scheduled(a *agent.Agent, key run.Key, in agent.Input) (*client.ScheduleWorkflowAction, error) {
	t, id := target{Tenant: key.Tenant, Agent: a.Name()}, WorkflowID(key)
	if err := checkWorkflowID(id + timeOfSchedule); err != nil {
		return nil, fmt.Errorf("schedule runs %q: %w", key.ID, err)
	}
	return &client.ScheduleWorkflowAction{
		ID: id, Workflow: runWorkflow, TaskQueue: c.opts.Queue, WorkflowTaskTimeout: taskTimeout,
		TypedSearchAttributes: c.attributes(t), Priority: priority(t),
		Args: []any{job{Target: t, Attributes: c.opts.SearchAttributes, After: c.opts.ContinueAfter, Begin: in}},
	}, nil
}

// timeOfSchedule is as long as what a schedule puts behind the id of a workflow.
const timeOfSchedule = "-2030-01-02T03:00:00Z"

// runOf is the id of the run whose workflow has an id.
func runOf(workflow, tenant string) (string, error) {
	prefix := ""
	if tenant != "" {
		prefix = url.PathEscape(tenant) + "/"
	}
	rest, ok := strings.CutPrefix(workflow, prefix)
	id, err := url.PathUnescape(rest)
	if !ok || err != nil || WorkflowID(run.Key{Tenant: tenant, ID: id}) != workflow {
		return "", temporalsdk.NewNonRetryableApplicationError(fmt.Sprintf("the workflow %q is of no run of tenant %q", workflow, tenant), "NoRun", err)
	}
	return id, nil
}

// begin has a worker begin the run of a schedule, which has the id of the workflow. A workflow that is
// cancelled meanwhile begins the run all the same: run ends it then, and no sweep finds it later.
func (d *driver) begin(ctx workflow.Context) error {
	ctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	in := d.job.Begin
	d.job.Begin = nil
	ctx = workflow.WithActivityOptions(ctx, d.quick)
	return workflow.ExecuteActivity(ctx, beginActivity, d.job.Target, in).Get(ctx, &d.job.Target.ID)
}

// begin begins the run of a workflow, once, and returns its id.
func (a *activities) begin(ctx context.Context, t target, in agent.Input) (id string, err error) {
	helper, err := a.agent(t)
	if err != nil {
		return "", err
	}
	if id, err = runOf(activity.GetInfo(ctx).WorkflowExecution.ID, t.Tenant); err != nil {
		return "", err
	}
	_, err = helper.Begin(ctx, in, agent.In(id), agent.ForTenant(t.Tenant), agent.Once())
	if errors.Is(err, record.ErrExists) { // an attempt before has begun it
		return id, nil
	}
	return id, refusal(err)
}
