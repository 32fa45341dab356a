package adapter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Toolset offers the tools of several servers.
type Toolset struct {
	opts      *Options
	roster    *roster
	connector *connector
	lender    *lender
	reporter  *reporter
	calls     *calls
}

var errToolsetClosed = errors.New("toolset is closed")

// newToolset returns a toolset without servers. Its parts get each other's methods as functions.
func newToolset(o *Options) *Toolset {
	t := &Toolset{opts: o, roster: newRoster(o)}
	t.reporter = newReporter(o, t.roster)
	t.calls = &calls{
		approvals: newApprovals(o), intercept: o.Intercept, current: t.roster.current,
		fit: func(text string, tool *Tool, taken int) string {
			return shorten(text, tool.server.policy.MaxResult-taken)
		},
	}
	t.lender = &lender{
		opts: o, roster: t.roster, pools: map[*serverState]*pool{},
		connectedTool: t.calls.connectedTool, callUser: t.calls.approvals.callUser,
	}
	t.connector = &connector{opts: o, roster: t.roster, lender: t.lender, reporter: t.reporter, calls: t.calls}
	t.lender.newServer, t.lender.open = t.connector.newServer, t.connector.open
	t.lender.connectIdle, t.lender.disconnectIdle = t.connector.connectIdle, t.connector.disconnectIdleLocked
	t.lender.relist = t.connector.relistUserTools
	t.calls.hold, t.calls.reconnectOlder = t.lender.hold, t.connector.reconnectOlder
	if o.KeepResults > 0 {
		kept := newSpill(o, t.roster.current)
		kept.tool.calls, t.calls.fit, t.roster.own = t.calls, kept.fit, kept.tool
		t.roster.buildLocked() // nobody else has it yet
	}
	return t
}

// Catalog returns the present tools for a provider. It is built once: with the same tools and
// profile it is the same value. Catalog panics if the profile is unknown.
func (t *Toolset) Catalog(p profile.Profile) *Catalog {
	return t.roster.present.Load().catalogs.find(p)
}

// forModels returns the tools that models may call.
func forModels(tools []*Tool) []*Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(tool *Tool) bool { return !tool.views.ForModel })
}

// ServerStatus is the state of a server of a toolset.
type ServerStatus struct {
	Name   string            // the host's label
	Client *mcpclient.Client // nil if Err is set or the server is idle
	Err    error             // why the server's tools are not offered
	Tools  []*Tool           // for models

	// Skipped says, by the server's names, why tools cannot be offered, for example because of
	// their schemas. Tools that filters exclude do not count.
	Skipped map[string]error

	// Unmatched lists the entries of [Server.Allow] and Deny that match no tool, possibly because they are mistyped or
	// the server has renamed a tool. A tool that such an entry should exclude is offered.
	Unmatched []string

	// Ended says why the connection ended, nil if it has not. It is nil over HTTP, which has no lasting connection, and
	// while a connection is being restarted. To find out, call [mcpclient.Client.Ping].
	Ended error
}

// Servers returns the state of the servers, in the order of Open and Add.
func (t *Toolset) Servers() []ServerStatus { return t.roster.status() }

// statusLocked returns the state of the server.
func (s *server) statusLocked() ServerStatus {
	if s.err != nil {
		return ServerStatus{Name: s.state.label, Err: s.err}
	}
	out := ServerStatus{
		Name:      s.state.label,
		Client:    s.client,
		Tools:     forModels(s.tools),
		Skipped:   maps.Clone(s.skipped),
		Unmatched: slices.Clone(s.unmatched),
	}
	if s.client != nil {
		out.Ended = s.client.Err()
	}
	return out
}

// Add adds a server at the end. It returns an error if its Name is taken, or if it cannot be opened, whatever its
// [Policy.Start]; with [StartLazy] and a stored list it is not opened yet. Names of other tools may change if they collide with the
// new ones, see [Options.AlwaysPrefix]. ctx bounds only the opening.
func (t *Toolset) Add(ctx context.Context, added Server) error {
	if err := t.connector.add(ctx, &added); err != nil {
		return fmt.Errorf("add to toolset: %w", err)
	}
	return nil
}

// Remove removes a server and its tools, and closes its connections, also those of users ([Server.PerUser]). Its
// current calls fail. It returns an error if there is no such server.
func (t *Toolset) Remove(name string) error {
	s := t.roster.remove(func(s *server) bool { return s.state.label == name })
	if s == nil {
		return fmt.Errorf("remove from toolset: there is no server %q", name)
	}
	if err := concurrently(append(t.lender.take(s.state), s), (*server).close); err != nil {
		return fmt.Errorf("remove server %q: %w", name, err)
	}
	return nil
}

// Pins returns the fingerprints of the offered tools by server, to be stored and passed to [Server.Pins] later.
func (t *Toolset) Pins() map[string]map[string]string {
	t.roster.mu.Lock()
	defer t.roster.mu.Unlock()
	out := map[string]map[string]string{}
	for _, s := range t.roster.servers {
		if s.err == nil {
			out[s.state.label] = fingerprints(s.tools)
		}
	}
	return out
}

// Close closes the connections that the toolset opened or is opening, concurrently, and waits until they have ended.
// Current calls fail. Like [mcpclient.Client.Close] it does not wait for the host's handlers. It drops the events that
// OnChange has not received yet, and waits up to 5 s for OnChange to return: if OnChange calls it, it takes 5 s. It may
// be called more than once, but not from a function that runs while a server is connected or listed, for which it
// waits: middleware, or a hook of a transport.
func (t *Toolset) Close() error {
	r := t.roster
	r.mu.Lock()
	r.closed = true
	servers := slices.Concat(r.servers, r.retired)
	for _, p := range t.lender.pools {
		servers = append(servers, p.conns...)
	}
	servers = slices.DeleteFunc(servers, func(s *server) bool { return !s.isOpened() }) // see openFor
	for _, s := range servers {
		s.stopIdleLocked()
	}
	r.mu.Unlock()
	r.end()
	err := concurrently(servers, func(s *server) error {
		if err := s.close(); err != nil {
			return fmt.Errorf("close server %q: %w", s.state.label, err)
		}
		return nil
	})
	r.background.Wait()
	t.reporter.close()
	return err
}

// concurrently calls do for all servers at the same time, waits, and joins the errors.
func concurrently(servers []*server, do func(*server) error) error {
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		wg.Go(func() { errs[i] = do(s) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
