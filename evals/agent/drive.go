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
func (p *player) drive(ctx context.Context) (err error) {
	tools, err := p.openTools(ctx)
	if err != nil {
		return harnessError(err)
	}
	defer func() { err = errors.Join(err, harnessError(tools.Close())) }()
	a, err := p.newAgent(tools)
	if err != nil {
		return harnessError(err)
	}
	for _, input := range append([]string{p.task.Prompt}, p.task.Turns...) {
		result, err := a.Run(ctx, agent.Text(input), agent.WithRun(runID))
		if err != nil || result.Status != run.StatusFinished {
			return err
		}
	}
	return nil
}

// newAgent returns the task's agent.
func (p *player) newAgent(tools *adapter.Toolset) (*agent.Agent, error) {
	m, err := p.Model.forTrial(p.task, p.tape)
	if err != nil {
		return nil, err
	}
	limits := &p.task.Limits
	return agent.New(m, &agent.Options{
		System:   p.task.System,
		Tools:    []adapter.Source{tools},
		Durable:  agent.Durable{Store: p.store},
		Model:    agent.ModelSettings{Retries: -1, Prices: p.Prices}, // a live model tries again itself
		Discover: agent.Discover{Threshold: -1},                      // tasks measure how a model chooses among all tools
		Limits:   run.Limits{Turns: limits.Turns, Calls: limits.Calls, Failures: limits.Failures},
		Person:   p.people(),
	})
}

// openTools opens the servers of the task. Each of them has to work.
func (p *player) openTools(ctx context.Context) (*adapter.Toolset, error) {
	labels := p.task.Servers
	if labels == nil {
		labels = slices.Sorted(maps.Keys(p.suite.Servers))
	}
	var servers []adapter.Server
	for _, label := range labels {
		s, err := p.server(ctx, label)
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", label, err)
		}
		servers = append(servers, *s)
	}
	return adapter.Open(ctx, servers, p.options())
}

// server describes a server of the suite to the agent.
func (p *player) server(ctx context.Context, label string) (*adapter.Server, error) {
	s := p.suite.Servers[label]
	if s == nil {
		return nil, errors.New("suite has no such server")
	}
	as := s.As
	as.Name, as.Policy.Start = label, adapter.StartRequired
	if len(p.task.Allow) > 0 {
		as.Allow = p.task.Allow
	}
	as.Deny = append(slices.Clip(as.Deny), p.task.Deny...)
	switch s.Era {
	case "legacy":
		as.Revision = mcp.Revision20251125
	case "modern":
		as.Revision = mcp.Revision20260728
	}
	var err error
	as.Transport, err = p.dial(ctx, label, s)
	return &as, err
}

// options returns the options for all servers. By default they have no limits of time: the limit of the trial ends what
// hangs.
func (p *player) options() *adapter.Options {
	o := &adapter.Options{
		ClientOptions: &mcpclient.Options{},
		Policy: adapter.Policy{
			MaxResult:      p.task.Limits.Result,
			ConnectTimeout: -1,
			IdleTimeout:    -1,
			CallTimeout:    -1,
		},
	}
	if ms := p.task.Limits.Millis; ms > 0 {
		o.Policy.CallTimeout = time.Duration(ms) * time.Millisecond
	}
	if len(p.task.People.Sampling) > 0 {
		o.ClientOptions.Sampling = mcp.SamplingFunc(p.sample)
	}
	return o
}

// dial returns the transport of a server. Unless the server runs in process, the transport plays its messages if the
// trial plays servers, or records them if the trial records and the server has no URL.
func (p *player) dial(ctx context.Context, label string, s *suite.Server) (mcpclient.Transport, error) {
	if s.InProcess == "" && p.Model.Servers {
		return p.tape.Play(label), nil
	}
	t, end, err := p.dialServer(ctx, label, s)
	if err != nil {
		return nil, err
	}
	if end != nil {
		p.closes = append(p.closes, end)
	}
	if p.Model.Record && s.InProcess == "" && s.URL == "" {
		t = p.tape.Record(label, t)
	}
	return t, nil
}

// dialServer returns the transport of the server itself, and a function that ends the server after the trial, or nil.
func (p *player) dialServer(ctx context.Context, label string, s *suite.Server) (t mcpclient.Transport, end func() error, err error) {
	switch {
	case s.InProcess != "":
		return p.world.Pipe(label, s)
	case s.Dial != nil:
		return s.Dial(ctx, p.dir)
	case s.URL != "":
		return &mcpclient.HTTP{URL: s.URL}, nil, nil
	}
	t, err = p.command(s)
	return t, nil, err
}

// command returns the transport of a server that is a child process in the directory of the trial,
// and writes the files of its seed there.
func (p *player) command(s *suite.Server) (mcpclient.Transport, error) {
	in := func(text string) string { return strings.ReplaceAll(text, "${DIR}", p.dir) }
	c := &mcpclient.Command{Path: in(p.fromFolder(s.Command[0])), Dir: p.dir}
	for _, arg := range s.Command[1:] {
		c.Args = append(c.Args, in(p.fromFolder(arg)))
	}
	for name, value := range s.Env {
		c.Env = append(c.Env, name+"="+in(value))
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return c, world.Seed(root, s.Seed)
}

// fromFolder resolves a word that begins with ./ or ../ relative to the folder of the suite.
func (p *player) fromFolder(word string) string {
	first, _, _ := strings.Cut(filepath.ToSlash(word), "/")
	if p.suite.Folder == "" || len(first) == len(word) || first != "." && first != ".." {
		return word
	}
	return filepath.Join(p.suite.Folder, filepath.FromSlash(word))
}
