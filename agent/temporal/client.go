package temporal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	temporalsdk "go.temporal.io/sdk/temporal"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// ClientOptions configure a [Client]. Nil and the zero value are valid.
type ClientOptions struct {
	// Queue is the task queue of the workers. Default [DefaultQueue].
	Queue string

	// SearchAttributes gives workflows [TenantAttribute], [AgentAttribute] and
	// [StatusAttribute], which must be registered at Temporal as keywords. Default: none.
	SearchAttributes bool

	// ContinueAfter is the number of steps after which a workflow continues as new, so that its
	// history stays short. Default 500.
	ContinueAfter int
}

// Client starts runs at Temporal, and deals with them. It holds no state.
type Client struct {
	service client.Client
	store   record.Store
	opts    ClientOptions
}

// NewClient returns a client for the runs of a store, which workers share.
func NewClient(service client.Client, store record.Store, o *ClientOptions) *Client {
	c := &Client{service: service, store: store}
	if o != nil {
		c.opts = *o
	}
	c.opts.Queue = cmp.Or(c.opts.Queue, DefaultQueue)
	if c.opts.ContinueAfter <= 0 {
		c.opts.ContinueAfter = 500
	}
	return c
}

// WorkflowID is the id of the workflow of a run: the run's, after its tenant. Different runs
// have different ids.
func WorkflowID(key run.Key) string {
	if key.Tenant == "" {
		return url.PathEscape(key.ID)
	}
	return url.PathEscape(key.Tenant) + "/" + url.PathEscape(key.ID)
}

// maxWorkflowID is the length of ids that Temporal takes by default.
const maxWorkflowID = 1000

func checkWorkflowID(id string) error {
	if n := len(id); n > maxWorkflowID {
		return fmt.Errorf("the id of its workflow has %d bytes; Temporal takes %d", n, maxWorkflowID)
	}
	return nil
}

// Start begins a run in the agent's store, which is the client's, or gives the input to the run
// that [agent.In] names, and has workers drive it. The agent needs no tools here: workers have them.
// If the error comes with a key the run is kept, and Resume has workers drive it.
func (c *Client) Start(ctx context.Context, a *agent.Agent, in agent.Input, opts ...agent.RunOption) (run.Key, error) {
	key, err := a.Begin(ctx, in, opts...)
	if err != nil {
		return key, fmt.Errorf("start run: %w", err)
	}
	if err := c.drive(ctx, target{key.Tenant, key.ID, a.Name()}); err != nil {
		return key, fmt.Errorf("start run %q: %w", key.ID, err)
	}
	return key, nil
}

// Resume has workers drive a run of the store, whoever began it. It may be called for a run that
// they drive already, which takes a look at its answers then. For all runs that are due:
//
//	for head, err := range store.List(ctx, record.Query{AllTenants: true, DueAt: time.Now()}) {
//		…
//		err := c.Resume(ctx, head.Key)
//	}
func (c *Client) Resume(ctx context.Context, key run.Key) error {
	log, err := record.LoadCurrent(ctx, c.store, key)
	if err == nil {
		err = c.drive(ctx, target{key.Tenant, key.ID, log.Head.Agent})
	}
	if err != nil {
		return fmt.Errorf("resume run %q: %w", key.ID, err)
	}
	return nil
}

// taskTimeout bounds what a workflow does at a time, without its activities: a worker that does not
// come to it may be dead.
const taskTimeout = 3 * time.Second

// drive starts the workflow of a run, or wakes it: so none ends while it is wanted.
func (c *Client) drive(ctx context.Context, t target) error {
	o := client.StartWorkflowOptions{ID: WorkflowID(t.key()), TaskQueue: c.opts.Queue, WorkflowTaskTimeout: taskTimeout}
	if err := checkWorkflowID(o.ID); err != nil {
		return err
	}
	o.Priority = priority(t)
	o.TypedSearchAttributes = c.attributes(t)
	j := job{Target: t, Attributes: c.opts.SearchAttributes, After: c.opts.ContinueAfter}
	_, err := c.service.SignalWithStartWorkflow(ctx, o.ID, wakeSignal, nil, o, runWorkflow, j)
	return err
}

// attributes are the search attributes of a workflow that begins.
func (c *Client) attributes(t target) temporalsdk.SearchAttributes {
	if !c.opts.SearchAttributes {
		return temporalsdk.SearchAttributes{}
	}
	return temporalsdk.NewSearchAttributes(
		temporalsdk.NewSearchAttributeKeyKeyword(TenantAttribute).ValueSet(t.Tenant),
		temporalsdk.NewSearchAttributeKeyKeyword(AgentAttribute).ValueSet(t.Agent),
		temporalsdk.NewSearchAttributeKeyKeyword(StatusAttribute).ValueSet(string(run.StatusRunning)),
	)
}

// priority has Temporal be fair to the tenant of a workflow.
func priority(t target) temporalsdk.Priority {
	return temporalsdk.Priority{FairnessKey: fairnessKey(t.Tenant)}
}

// fairnessKey is a tenant's, in the 64 bytes that Temporal takes.
func fairnessKey(tenant string) string {
	if len(tenant) <= 64 {
		return tenant
	}
	sum := sha256.Sum256([]byte(tenant))
	return hex.EncodeToString(sum[:])
}

// Reply answers questions of a run, which then continues. Answers are checked by their questions; the
// errors are those of [record.Submit]. The first answer to a question counts, and an equal one changes
// nothing, also after the run is over.
func (c *Client) Reply(ctx context.Context, key run.Key, answers ...run.Reply) error {
	if len(answers) == 0 {
		return nil
	}
	id, err := updateID(answers)
	if err == nil {
		err = c.update(ctx, key, id, answers)
	}
	if gone := (*serviceerror.NotFound)(nil); errors.As(err, &gone) { // no workflow drives the run
		if err = record.Submit(ctx, c.store, key, answers...); err == nil {
			return c.resumeDue(ctx, key)
		}
	}
	if err = refused(err); err != nil {
		return fmt.Errorf("answer run %q: %w", key.ID, err)
	}
	return nil
}

// resumeDue has workers drive a run that has an answer.
func (c *Client) resumeDue(ctx context.Context, key run.Key) error {
	log, err := record.LoadCurrent(ctx, c.store, key)
	if err != nil || !log.Head.Due(time.Now()) {
		return err
	}
	return c.Resume(ctx, key)
}

func (c *Client) update(ctx context.Context, key run.Key, id string, answers []run.Reply) error {
	h, err := c.service.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		UpdateID: id, WorkflowID: WorkflowID(key), UpdateName: answerUpdate, Args: []any{answers},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return h.Get(ctx, nil)
}

// updateID is the same for equal answers: an update that was lost on its way is sent again.
func updateID(answers []run.Reply) (string, error) {
	same := make([]run.Reply, len(answers))
	for i, a := range answers {
		a.At = time.Time{}
		same[i] = a
	}
	data, err := json.Marshal(same)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

// Result waits until a run is over, and returns its result from the store: its Status says what
// came of it. The error is of the wait, never of the run.
func (c *Client) Result(ctx context.Context, key run.Key) (*agent.Result, error) {
	err := c.service.GetWorkflow(ctx, WorkflowID(key), "").Get(ctx, nil)
	if over := (*temporalsdk.WorkflowExecutionError)(nil); err != nil && !errors.As(err, &over) {
		return nil, fmt.Errorf("wait for run %q: %w", key.ID, err)
	}
	log, err := record.LoadCurrent(ctx, c.store, key)
	if err != nil {
		return nil, fmt.Errorf("load run %q: %w", key.ID, err)
	}
	result, err := agent.ResultOf(log.Records)
	if err != nil {
		return nil, fmt.Errorf("load run %q: %w", key.ID, err)
	}
	return result, nil
}

// State asks the workflow of a run what it knows.
func (c *Client) State(ctx context.Context, key run.Key) (State, error) {
	var s State
	value, err := c.service.QueryWorkflow(ctx, WorkflowID(key), "", stateQuery)
	if err == nil {
		err = value.Get(&s)
	}
	if err != nil {
		return s, fmt.Errorf("query run %q: %w", key.ID, err)
	}
	return s, nil
}

// Cancel asks for the end of a run: its tool calls are cancelled, and it ends as cancelled. Result
// waits for that. A run that is over stays as it is.
func (c *Client) Cancel(ctx context.Context, key run.Key) error {
	err := c.service.CancelWorkflow(ctx, WorkflowID(key), "")
	if gone := (*serviceerror.NotFound)(nil); errors.As(err, &gone) { // no workflow drives the run
		var log *record.Log
		if log, err = record.LoadCurrent(ctx, c.store, key); err == nil && log.Head.Status.Ended() {
			return nil
		}
		if err == nil {
			err = c.Resume(ctx, key)
		}
		if err == nil {
			err = c.service.CancelWorkflow(ctx, WorkflowID(key), "")
		}
	}
	if err != nil {
		return fmt.Errorf("cancel run %q: %w", key.ID, err)
	}
	return nil
}
