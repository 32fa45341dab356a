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
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	temporalsdk "go.temporal.io/sdk/temporal"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// ClientOptions configure a [Client]. Nil and the zero value are valid.
type ClientOptions struct {
	// Queue is the task queue of the workers. Default "mcpchain".
	Queue string

	// SearchAttributes sets the attributes McpchainTenant, McpchainAgent and McpchainStatus (a
	// [run.Status]) of workflows. They must be registered as keywords ([AddSearchAttributes]).
	// Default: not set.
	SearchAttributes bool
}

// Client starts runs through Temporal, replies to their questions, waits for their results and
// cancels them. It has no state and may be used concurrently.
type Client struct {
	service client.Client
	store   record.Store
	opts    ClientOptions
}

// NewClient returns a client for the runs of a store, which the workers share.
func NewClient(service client.Client, store record.Store, opts *ClientOptions) *Client {
	c := &Client{service: service, store: store, opts: *cmp.Or(opts, new(ClientOptions))}
	c.opts.Queue = cmp.Or(c.opts.Queue, defaultQueue)
	return c
}

// continueAfter is the number of steps after which a workflow continues as new, so that its history stays short.
const continueAfter = 500

// WorkflowID returns the id of the workflow of a run: the tenant followed by the run's id, or a hash of both if Temporal
// would refuse them as too long. Different runs have different ids.
func WorkflowID(key run.Key) string {
	id := escapedID(key)
	if len(id) <= maxWorkflowID {
		return id
	}
	return "#" + hashOf([]byte(id)) // no escaped id has this sign
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// maxWorkflowID is the longest id that Temporal accepts by default, in bytes.
const maxWorkflowID = 1000

// escapedID returns the tenant followed by the run's id.
func escapedID(key run.Key) string {
	if key.Tenant == "" {
		return url.PathEscape(key.ID)
	}
	return url.PathEscape(key.Tenant) + "/" + url.PathEscape(key.ID)
}

// Start begins a run in the agent's store, which must be the client's, or adds the input to the run
// named by [agent.WithRun], and lets workers drive it. The agent needs no tools here: the workers
// have them. If there is both a key and an error the run is stored, and [Client.Drive] starts it.
// Other errors are those of [agent.Agent.Begin].
func (c *Client) Start(ctx context.Context, a *agent.Agent, in []run.Message, opts ...agent.RunOption) (run.Key, error) {
	key, err := a.Begin(ctx, in, opts...)
	if err != nil {
		return key, fmt.Errorf("start run: %w", err)
	}
	if err := c.drive(ctx, target{key.Tenant, key.ID, a.Name()}); err != nil {
		return key, fmt.Errorf("start run %q: %w", key.ID, err)
	}
	return key, nil
}

// Drive lets workers drive a run of the store, no matter who began it. If they already do, they
// look for replies. For all due runs:
//
//	for head, err := range store.List(ctx, record.Query{AllTenants: true, DueAt: time.Now()}) {
//		…
//		err := c.Drive(ctx, head.Key)
//	}
func (c *Client) Drive(ctx context.Context, key run.Key) error {
	log, err := c.store.LoadCurrent(ctx, key)
	if err == nil {
		err = c.drive(ctx, target{key.Tenant, key.ID, log.Head.Agent})
	}
	if err != nil {
		return fmt.Errorf("drive run %q: %w", key.ID, err)
	}
	return nil
}

// taskTimeout bounds the work of a workflow between activities. A worker that does not respond
// in that time may be dead.
const taskTimeout = 3 * time.Second

// drive starts the workflow of a run. If it is running, it gets a signal and takes another step before
// it ends.
func (c *Client) drive(ctx context.Context, t target) error {
	o := client.StartWorkflowOptions{ID: WorkflowID(t.key()), TaskQueue: c.opts.Queue, WorkflowTaskTimeout: taskTimeout}
	o.Priority = priority(t)
	o.TypedSearchAttributes = c.attributes(t)
	_, err := c.service.SignalWithStartWorkflow(ctx, o.ID, wakeSignal, nil, o, runWorkflow, c.job(t, nil))
	return err
}

// job returns the input of a workflow. in is that of a schedule, else nil.
func (c *Client) job(t target, in []run.Message) job {
	return job{Target: t, Attributes: c.opts.SearchAttributes, After: continueAfter, Begin: in}
}

func (c *Client) attributes(t target) temporalsdk.SearchAttributes {
	if !c.opts.SearchAttributes {
		return temporalsdk.SearchAttributes{}
	}
	return temporalsdk.NewSearchAttributes(
		temporalsdk.NewSearchAttributeKeyKeyword(tenantAttribute).ValueSet(t.Tenant),
		temporalsdk.NewSearchAttributeKeyKeyword(agentAttribute).ValueSet(t.Agent),
		temporalsdk.NewSearchAttributeKeyKeyword(statusAttribute).ValueSet(string(run.StatusRunning)),
	)
}

// priority makes Temporal schedule fairly between tenants.
func priority(t target) temporalsdk.Priority {
	return temporalsdk.Priority{FairnessKey: fairnessKey(t.Tenant)}
}

// maxFairnessKey is the longest key that Temporal accepts, in bytes.
const maxFairnessKey = 64

// fairnessKey returns the key of a tenant: its name, or a hash of a longer one.
func fairnessKey(tenant string) string {
	if len(tenant) <= maxFairnessKey {
		return tenant
	}
	return hashOf([]byte(tenant))
}

// Reply replies to questions of a run, which then continues. Replies are checked against their
// questions; the errors come from [record.Submit]. The first reply to a question counts; an
// equal one changes nothing, even after the run has ended.
func (c *Client) Reply(ctx context.Context, key run.Key, replies ...run.Reply) error {
	if len(replies) == 0 {
		return nil
	}
	err := c.update(ctx, key, replies)
	if hasNoWorkflow(err) { // no workflow drives the run
		err = record.Submit(ctx, c.store, key, replies...)
		if err == nil {
			return c.resumeDue(ctx, key)
		}
	}
	if err != nil {
		return fmt.Errorf("answer run %q: %w", key.ID, decodeRefusal(err))
	}
	return nil
}

// hasNoWorkflow reports whether an error means that no workflow of the run is running.
func hasNoWorkflow(err error) bool {
	_, ok := errors.AsType[*serviceerror.NotFound](err)
	return ok
}

// resumeDue lets workers drive a run that has a reply, unless it has ended or a process holds it.
func (c *Client) resumeDue(ctx context.Context, key run.Key) error {
	log, err := c.store.LoadCurrent(ctx, key)
	if err != nil || !log.Head.Due(time.Now()) {
		return err
	}
	return c.Drive(ctx, key)
}

// update sends replies to the workflow of a run, and waits until they are stored.
func (c *Client) update(ctx context.Context, key run.Key, replies []run.Reply) error {
	id, err := updateID(replies)
	if err != nil {
		return err
	}
	h, err := c.service.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		UpdateID: id, WorkflowID: WorkflowID(key), UpdateName: replyUpdate, Args: []any{replies},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return h.Get(ctx, nil)
}

// updateID returns the same id for equal replies, whatever their times, so that Temporal recognizes
// an update that is sent again.
func updateID(replies []run.Reply) (string, error) {
	undated := slices.Clone(replies)
	for i := range undated {
		undated[i].At = time.Time{}
	}
	data, err := json.Marshal(undated)
	return hashOf(data), err
}

// Result waits until a run has ended, and returns its result from the store, also if Temporal no longer
// has its workflow. Its Status says how it ended: unlike that of [agent.Agent.Run], the error is only
// about the wait. It is an error if the workflow has ended before the run, for example because an operator
// has terminated it; [Client.Drive] starts another one.
func (c *Client) Result(ctx context.Context, key run.Key) (*agent.Result, error) {
	waitErr := c.service.GetWorkflow(ctx, WorkflowID(key), "").Get(ctx, nil)
	_, hasEnded := errors.AsType[*temporalsdk.WorkflowExecutionError](waitErr)
	if waitErr != nil && !hasEnded && !hasNoWorkflow(waitErr) {
		return nil, fmt.Errorf("wait for run %q: %w", key.ID, waitErr)
	}
	log, err := c.store.LoadCurrent(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("load run %q: %w", key.ID, err)
	}
	if waitErr != nil && !log.Head.Status.Ended() {
		return nil, fmt.Errorf("wait for run %q: %w", key.ID, waitErr)
	}
	result, err := agent.ResultOf(log.Records)
	if err != nil {
		return nil, fmt.Errorf("load run %q: %w", key.ID, err)
	}
	return result, nil
}

// Cancel requests the cancellation of a run and its tool calls. Result waits for it. A run that
// has ended stays as it is.
func (c *Client) Cancel(ctx context.Context, key run.Key) error {
	err := c.service.CancelWorkflow(ctx, WorkflowID(key), "")
	if hasNoWorkflow(err) {
		err = c.cancelIdle(ctx, key)
	}
	if err != nil {
		return fmt.Errorf("cancel run %q: %w", key.ID, err)
	}
	return nil
}

// cancelIdle cancels a run that no workflow drives: it starts a workflow and cancels that, so that a
// worker records the end. A run that has ended stays as it is, also if it ends meanwhile.
func (c *Client) cancelIdle(ctx context.Context, key run.Key) error {
	if ended, err := c.hasEnded(ctx, key); ended || err != nil {
		return err
	}
	if err := c.Drive(ctx, key); err != nil {
		return err
	}
	err := c.service.CancelWorkflow(ctx, WorkflowID(key), "")
	if hasNoWorkflow(err) {
		if ended, loadErr := c.hasEnded(ctx, key); ended || loadErr != nil {
			return loadErr
		}
	}
	return err
}

func (c *Client) hasEnded(ctx context.Context, key run.Key) (bool, error) {
	log, err := c.store.LoadCurrent(ctx, key)
	return err == nil && log.Head.Status.Ended(), err
}

// The search attributes of [ClientOptions.SearchAttributes].
const (
	tenantAttribute = "McpchainTenant"
	agentAttribute  = "McpchainAgent"
	statusAttribute = "McpchainStatus"
)

// AddSearchAttributes registers the search attributes of [ClientOptions] that a namespace lacks. It is for servers of
// your own: on Temporal Cloud, and where the program lacks the right, an operator registers them.
func AddSearchAttributes(ctx context.Context, service client.Client, namespace string) error {
	operator := service.OperatorService()
	have, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes: %w", err)
	}
	missing := map[string]enums.IndexedValueType{}
	for _, name := range []string{tenantAttribute, agentAttribute, statusAttribute} {
		if _, ok := have.CustomAttributes[name]; !ok {
			missing[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace:        namespace,
		SearchAttributes: missing,
	})
	if _, raced := errors.AsType[*serviceerror.AlreadyExists](err); raced {
		return nil // another process has registered it
	}
	if err != nil {
		return fmt.Errorf("add search attributes: %w", err)
	}
	return nil
}
