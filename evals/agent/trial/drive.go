package trial

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// runID is the id of a trial's run in its store.
const runID = "trial"

// driver drives the run of a trial until it ends, waits, or is killed.
type driver struct {
	*player
	store record.Store // may die
	sets  []*adapter.Toolset
}

// drive gives the run its inputs, one after the other, until the run has ended after the last one, or fails or waits.
func (d *driver) drive(ctx context.Context) error {
	a, err := d.taskAgent(ctx)
	if err != nil {
		return err
	}
	inputs := append([]string{d.Task.Prompt}, d.Task.Turns...)
	for {
		given, status, err := d.progress(ctx)
		if err != nil {
			return err
		}
		var res *agent.Result
		switch {
		case status == run.StatusFailed || status == run.StatusCancelled || status.Ended() && given == len(inputs):
			return nil
		case given == 0 || status.Ended():
			res, err = a.Run(ctx, agent.Text(inputs[given]), agent.WithRun(runID))
		default:
			res, err = a.Resume(ctx, run.Key{ID: runID})
		}
		if err != nil {
			return err
		}
		if res.Status == run.StatusWaiting {
			return nil
		}
	}
}

// progress returns how many inputs the run has had, and its status: 0 and "" before the first.
func (d *driver) progress(ctx context.Context) (inputs int, status run.Status, err error) {
	log, err := d.store.Load(ctx, run.Key{ID: runID})
	if errors.Is(err, record.ErrNotFound) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", err
	}
	for _, r := range log.Records {
		switch ledger.ChangeOf(r).(type) {
		case *ledger.Begun, *ledger.Said:
			inputs++
		}
	}
	return inputs, log.Head.Status, nil
}

// agent returns the task's agent, with its sub-agents among its tools.
func (d *driver) taskAgent(ctx context.Context) (*agent.Agent, error) {
	labels := d.Task.Servers
	if labels == nil {
		labels = slices.Sorted(maps.Keys(d.Suite.Servers))
	}
	tools, err := d.sources(ctx, labels)
	if err != nil {
		return nil, err
	}
	for i := range d.Task.Agents {
		sub, err := d.subAgent(ctx, &d.Task.Agents[i])
		if err != nil {
			return nil, err
		}
		tools = append(tools, sub)
	}
	a, err := d.newAgent(nil, d.Task.System, tools)
	if err != nil {
		return nil, err
	}
	d.line.ToolsHash = toolsHash(tools, a.Profile())
	return a, nil
}

// subAgent returns a sub-agent as a tool of the task's agent, or as a handoff.
func (d *driver) subAgent(ctx context.Context, spec *suite.Agent) (*agent.SubAgent, error) {
	tools, err := d.sources(ctx, spec.Servers)
	if err != nil {
		return nil, err
	}
	a, err := d.newAgent(spec, spec.System, tools)
	if err != nil {
		return nil, err
	}
	wrap := agent.NewSubAgent
	if spec.Handoff {
		wrap = agent.NewHandoff
	}
	tool, err := wrap(a, spec.Name, spec.About)
	if err != nil {
		return nil, &harnessError{err}
	}
	return tool, nil
}

// newAgent returns a sub-agent, or the task's own agent if sub is nil.
func (d *driver) newAgent(sub *suite.Agent, system string, tools []adapter.Source) (*agent.Agent, error) {
	m, err := d.models.Model(sub)
	if err != nil {
		return nil, &harnessError{err}
	}
	limits := &d.Task.Limits
	opts := &agent.Options{
		System:   system,
		Tools:    tools,
		Durable:  agent.Durable{Store: d.store},
		Model:    agent.ModelSettings{Retries: -1, Prices: d.Prices}, // a live model tries again itself
		Discover: agent.Discover{Threshold: -1},                      // tasks measure how a model chooses among all tools
		Limits:   run.Limits{Turns: limits.Turns, Calls: limits.Calls, Failures: limits.Failures},
	}
	if sub != nil {
		opts.Name = sub.Name
	}
	d.setPeople(opts)
	a, err := agent.New(m, opts)
	if err != nil {
		return nil, &harnessError{err}
	}
	return a, nil
}

// sources opens servers. Each of them has to work.
func (d *driver) sources(ctx context.Context, labels []string) (all []adapter.Source, err error) {
	var servers []adapter.Server
	for _, label := range labels {
		s, err := d.server(ctx, label)
		if err != nil {
			return nil, harnessErrorf("server %q: %w", label, err)
		}
		servers = append(servers, *s)
	}
	if len(servers) == 0 {
		return nil, nil
	}
	set, err := adapter.Open(ctx, servers, d.options())
	if err != nil {
		return nil, &harnessError{err}
	}
	d.sets = append(d.sets, set)
	for _, s := range set.Servers() {
		if s.Err != nil {
			return nil, &harnessError{s.Err}
		}
	}
	return []adapter.Source{set}, nil
}

// server describes a server of the suite to the agent.
func (d *driver) server(ctx context.Context, label string) (*adapter.Server, error) {
	s := d.Suite.Servers[label]
	if s == nil {
		return nil, errors.New("suite has no such server")
	}
	as := s.As
	as.Name, as.Prefix = label, s.Prefix
	if len(d.Task.Allow) > 0 {
		as.Allow = d.Task.Allow
	}
	as.Deny = append(slices.Clip(as.Deny), d.Task.Deny...)
	switch s.Era {
	case "legacy":
		as.Revision = mcp.Revision20251125
	case "modern":
		as.Revision = mcp.Revision20260728
	}
	if s.Keys {
		as.KeyInMeta = adapter.IdempotencyKeyMeta
	}
	var err error
	as.Transport, err = d.dial(ctx, label, s)
	return &as, err
}

// options returns the options for all servers. By default they have no limits of time: the limit of the trial ends what
// hangs.
func (d *driver) options() *adapter.Options {
	o := &adapter.Options{
		ClientOptions: &mcpclient.Options{},
		Policy: adapter.Policy{
			MaxResult:      d.Task.Limits.Result,
			ConnectTimeout: -1,
			IdleTimeout:    -1,
			CallTimeout:    -1,
			Start:          adapter.StartAvailable,
		},
		RefreshInterval: time.Millisecond,
	}
	if ms := d.Task.Limits.Millis; ms > 0 {
		o.Policy.CallTimeout = time.Duration(ms) * time.Millisecond
	}
	if len(d.Task.People.Sampling) > 0 {
		o.ClientOptions.Sampling = mcp.SamplingFunc(d.sample)
	}
	return o
}

// close closes the toolsets. Its error matches errHarness.
func (d *driver) close() (err error) {
	for _, s := range d.sets {
		err = errors.Join(err, s.Close())
	}
	if err != nil {
		return &harnessError{err}
	}
	return nil
}

// toolsHash identifies the definitions of the tools that the model gets.
func toolsHash(sources []adapter.Source, p profile.Profile) string {
	var all []any
	for _, s := range sources {
		all = append(all, s.Catalog(p).Definitions())
	}
	return suite.Hash(all)
}
