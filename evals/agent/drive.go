package agenteval

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/evals/agent/world"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// runID is the id of a trial's run in its store.
const runID = "trial"

// drive gives the run its inputs, one after the other, until the run has ended after the last one, or fails or waits.
func (t *trial) drive(ctx context.Context) (err error) {
	tools, err := t.openTools(ctx)
	if err != nil {
		return harnessError(err)
	}
	defer func() { err = errors.Join(err, harnessError(tools.Close())) }()
	a, err := t.newAgent(tools)
	if err != nil {
		return harnessError(err)
	}
	for _, input := range append([]string{t.task.Prompt}, t.task.Turns...) {
		result, err := a.Run(ctx, agent.Text(input), agent.WithRun(runID))
		if err != nil || result.Status != run.StatusFinished {
			return err
		}
	}
	return nil
}

// newAgent returns the task's agent.
func (t *trial) newAgent(tools *adapter.Toolset) (*agent.Agent, error) {
	m, err := t.Model.forTrial(t.task, t.tape)
	if err != nil {
		return nil, err
	}
	limits := &t.task.Limits
	return agent.New(m, &agent.Options{
		System:   t.task.System,
		Tools:    []adapter.Source{tools},
		Durable:  agent.Durable{Store: t.store},
		Model:    agent.ModelSettings{Retries: -1, Prices: t.Prices}, // a live model tries again itself
		Discover: agent.Discover{Threshold: -1},                      // tasks measure how a model chooses among all tools
		Limits:   run.Limits{Turns: limits.Turns, Calls: limits.Calls, Failures: limits.Failures},
		Person:   t.people(),
	})
}

// openTools opens the servers of the task. Each of them has to work.
func (t *trial) openTools(ctx context.Context) (*adapter.Toolset, error) {
	labels := t.task.Servers
	if labels == nil {
		labels = slices.Sorted(maps.Keys(t.suite.Servers))
	}
	var servers []adapter.Server
	for _, label := range labels {
		s, err := t.server(ctx, label)
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", label, err)
		}
		servers = append(servers, *s)
	}
	return adapter.Open(ctx, servers, t.options())
}

// server describes a server of the suite to the agent.
func (t *trial) server(ctx context.Context, label string) (*adapter.Server, error) {
	s := t.suite.Servers[label]
	if s == nil {
		return nil, errors.New("suite has no such server")
	}
	as := s.As
	as.Name, as.Policy.Start = label, adapter.StartRequired
	if len(t.task.Allow) > 0 {
		as.Allow = t.task.Allow
	}
	as.Deny = append(slices.Clip(as.Deny), t.task.Deny...)
	switch s.Era {
	case "legacy":
		as.Revision = mcp.Revision20251125
	case "modern":
		as.Revision = mcp.Revision20260728
	}
	var err error
	as.Transport, err = t.dial(ctx, label, s)
	return &as, err
}

// options returns the options for all servers. By default they have no limits of time: the limit of the trial ends what
// hangs.
func (t *trial) options() *adapter.Options {
	o := &adapter.Options{
		ClientOptions: &mcpclient.Options{},
		Policy: adapter.Policy{
			MaxResult:      t.task.Limits.Result,
			ConnectTimeout: -1,
			IdleTimeout:    -1,
			CallTimeout:    -1,
		},
	}
	if ms := t.task.Limits.Millis; ms > 0 {
		o.Policy.CallTimeout = time.Duration(ms) * time.Millisecond
	}
	if len(t.task.People.Sampling) > 0 {
		o.ClientOptions.Sampling = mcp.SamplingFunc(t.sample)
	}
	return o
}

// dial returns the transport of a server. Unless the server runs in process, the transport plays its messages if the
// trial plays servers, or records them if the trial records and the server has no URL.
func (t *trial) dial(ctx context.Context, label string, s *suite.Server) (to mcpclient.Transport, err error) {
	var end func() error // ends the server after the trial
	switch {
	case s.InProcess != "":
		to, end, err = t.world.Pipe(label, s)
	case t.Model.Servers:
		return t.tape.Play(label), nil
	case s.URL != "":
		return &mcpclient.HTTP{URL: s.URL}, nil
	case s.Dial != nil:
		to, end, err = s.Dial(ctx, t.dir)
	default:
		to, err = t.command(s)
	}
	if err != nil {
		return nil, err
	}
	if end != nil {
		t.closes = append(t.closes, end)
	}
	if t.Model.Record && s.InProcess == "" {
		to = t.tape.Record(label, to)
	}
	return to, nil
}

// command returns the transport of a server that is a child process in the directory of the trial,
// and writes the files of its seed there.
func (t *trial) command(s *suite.Server) (mcpclient.Transport, error) {
	in := func(text string) string { return strings.ReplaceAll(text, "${DIR}", t.dir) }
	c := &mcpclient.Command{Path: in(t.fromFolder(s.Command[0])), Dir: t.dir}
	for _, arg := range s.Command[1:] {
		c.Args = append(c.Args, in(t.fromFolder(arg)))
	}
	for name, value := range s.Env {
		c.Env = append(c.Env, name+"="+in(value))
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return c, world.Seed(root, s.Seed)
}

// fromFolder resolves a word that begins with ./ or ../ relative to the folder of the suite.
func (t *trial) fromFolder(word string) string {
	first, _, _ := strings.Cut(filepath.ToSlash(word), "/")
	if t.suite.Folder == "" || len(first) == len(word) || first != "." && first != ".." {
		return word
	}
	return filepath.Join(t.suite.Folder, filepath.FromSlash(word))
}
