package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Toolset is the tools of several servers under one roof.
type Toolset struct {
	opts      *Options
	roster    *roster
	connector *connector
	lender    *lender
	calls     *calls
}

var errToolsetClosed = errors.New("the toolset is closed")

func newToolset(o *Options) *Toolset {
	r := newRoster(o)
	c := &calls{
		approvals: newApprovals(o), intercept: o.Intercept, current: r.current,
		fit: func(text string, tool *Tool) string { return shorten(text, tool.policy.MaxResult) },
	}
	l := &lender{opts: o, roster: r, reachable: c.reachable, userOf: c.approvals.userOf, pools: map[*policy]*pool{}}
	n := &connector{opts: o, roster: r, lender: l, calls: c}
	l.newServer, l.awake, l.doze = n.newServer, n.awake, n.dozeLocked
	c.hold, c.older = l.hold, n.older
	if o.Spill > 0 {
		kept := newSpill(o, &n.schemas, r.current)
		kept.tool.calls, c.fit, r.own = c, kept.fit, kept.tool
	}
	return &Toolset{opts: o, roster: r, connector: n, lender: l, calls: c}
}

// Catalog returns what the toolset has at present, for a provider. It is built
// once for all callers: with the same tools and profile it is the same value.
// Catalog panics when there is no such profile.
func (t *Toolset) Catalog(p profile.Profile) *Catalog {
	build, ok := t.roster.present.Load().catalogs[cmp.Or(p, profile.Plain)]
	if !ok {
		panic(fmt.Sprintf("adapter: there is no profile %q", p))
	}
	return build()
}

// forModels are the tools that models may call.
func forModels(tools []*Tool) []*Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(tool *Tool) bool { return !tool.views.ForModel })
}

// ServerStatus is the state of a server of a toolset.
type ServerStatus struct {
	Name    string            // the host's label
	Client  *mcpclient.Client // nil when Err is set, and while the server rests
	Err     error             // why the server is left out
	Tools   []*Tool
	Skipped []SkippedTool

	// Unmatched are the names of [Server.Allow] and Deny that no tool of the server has: what a
	// mistyped one should leave out is offered. The server may have renamed a tool.
	Unmatched []string

	// AppTools are the tools that views of the server may call, also such as are for no
	// model, see [Toolset.ViewAccess].
	AppTools []*Tool

	// Ended says how its connection ended, nil while that lasts. Over HTTP there
	// is no connection that could end, and one that is being restarted has not:
	// [mcpclient.Client.Ping] asks whether the server is there.
	Ended error

	// Rests says that the server is not connected to before the next call of it, see [StartLazy].
	Rests bool
}

// SkippedTool is a tool that a server lists and that is not offered to the
// model, because its schema cannot be used, for instance. Tools that a filter leaves
// out do not count.
type SkippedTool struct {
	Name string // as the server calls it
	Err  error
}

// Servers returns the state of the servers, in the order of Open and Add.
func (t *Toolset) Servers() []ServerStatus { return t.roster.status() }

// status is the state of the server. The lock of its roster is held.
func (s *server) status() ServerStatus {
	if s.err != nil {
		return ServerStatus{Name: s.label, Err: s.err}
	}
	out := ServerStatus{
		Name:      s.label,
		Client:    s.client,
		Rests:     s.dormant,
		Tools:     forModels(s.tools),
		Skipped:   append([]SkippedTool(nil), s.skipped...),
		Unmatched: slices.Clone(s.unmatched),

		AppTools: forViews(s.tools),
	}
	if s.client != nil {
		out.Ended = s.client.Err()
	}
	return out
}

// Pins returns, by server, the fingerprints of the tools that are offered, to be
// kept and given to [Server.Pins] another time.
func (t *Toolset) Pins() map[string]map[string]string {
	t.roster.mu.Lock()
	defer t.roster.mu.Unlock()
	out := map[string]map[string]string{}
	for _, s := range t.roster.servers {
		if s.err == nil {
			out[s.label] = fingerprints(s.tools)
		}
	}
	return out
}

// Forget drops the decisions that are remembered for a server, for all servers if
// server is "". With [Options.User] it drops the decisions of the user of the
// context, and an unknown user is an error. Other errors come from
// [Options.Decisions].
func (t *Toolset) Forget(ctx context.Context, server string) error {
	return t.calls.approvals.forget(ctx, server)
}

// Close ends the connections that the toolset made, all at the same time, and
// returns when they have ended. Calls under way end with an error. Like
// [mcpclient.Client.Close] it does not wait for the host's handlers. It may be called
// more than once, but not from OnChange.
func (t *Toolset) Close() error {
	r := t.roster
	r.mu.Lock()
	r.closed = true
	servers := slices.Concat(r.servers, r.retired, t.lender.connsLocked())
	r.mu.Unlock()
	r.end()
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, s := range servers {
		if s == nil {
			continue
		}
		wg.Go(func() {
			if err := s.close(); err != nil {
				errs[i] = fmt.Errorf("close server %q: %w", s.label, err)
			}
		})
	}
	wg.Wait()
	r.background.Wait()
	return errors.Join(errs...)
}
