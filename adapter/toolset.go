package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Toolset is the tools of several servers under one roof.
type Toolset struct {
	opts      *Options
	schemas   schema.Cache
	approvals *approvals
	calls     *calls
	spill     *spill                       // nil when results are not kept
	level     atomic.Pointer[mcp.LogLevel] // of SetLogLevel; nil before
	present   atomic.Pointer[snapshot]

	life       context.Context // of the goroutines of servers; ends with Close
	end        context.CancelFunc
	background sync.WaitGroup // the goroutines of servers

	mu       sync.Mutex
	servers  []*server
	retired  []*server       // replaced, with calls under way
	reserved map[string]bool // names of servers that are being added
	closed   bool
}

var errToolsetClosed = errors.New("the toolset is closed")

func newToolset(o *Options) *Toolset {
	t := &Toolset{opts: o, approvals: newApprovals(o), reserved: map[string]bool{}}
	t.life, t.end = context.WithCancel(context.Background())
	t.calls = &calls{
		approvals: t.approvals, intercept: o.Intercept,
		current: func(tool *Tool) (*Tool, error) { return t.present.Load().find(tool) },
		hold:    t.hold, older: t.older,
		fit: func(text string, tool *Tool) string { return shorten(text, tool.policy.MaxResult) },
	}
	if o.Spill > 0 {
		t.spill = newSpill(o, &t.schemas)
		t.spill.tool.calls = t.calls
		t.calls.fit = func(text string, tool *Tool) string { return t.spill.fit(text, tool, t.readerName) }
	}
	t.present.Store(newSnapshot(o, nil, nil, nil))
	return t
}

// readerName is the name by which models know the tool that reads kept results.
func (t *Toolset) readerName() string {
	now, err := t.present.Load().find(t.spill.tool)
	if err != nil {
		return readResult
	}
	return now.name
}

// newServer makes a server of this toolset. The recipe must not change after that.
func (t *Toolset) newServer(recipe *Server, p *policy) *server {
	s := &server{
		label: recipe.Name, recipe: recipe, policy: p, opts: t.opts, pins: recipe.Pins,
		listing: make(chan struct{}, 1),
		start:   t.start, released: t.released, schemas: &t.schemas, level: &t.level, calls: t.calls,
	}
	s.watch = newWatch(s.label, t.opts, func(ctx context.Context) error { return t.relist(ctx, s) }, t.tell)
	s.question = func(ctx context.Context) func(error) { return t.question(ctx, s) }
	s.life, s.end = context.WithCancel(t.life)
	return s
}

// start runs a goroutine of a server. It reports whether the toolset is open.
func (t *Toolset) start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.background.Go(f)
	}
	return !t.closed
}

// buildLocked names the tools and puts a new snapshot in place. A tool that gets
// another name is a new value: whoever has the old one keeps it.
func (t *Toolset) buildLocked() {
	var all []*Tool
	var ids []identity
	var servers []*policy
	for _, s := range t.servers {
		servers = append(servers, s.policy)
		for _, tool := range forModels(s.tools) {
			all = append(all, tool)
			ids = append(ids, identity{server: s.label, tool: tool.def.Name, prefix: s.recipe.Prefix, own: tool.own})
		}
	}
	if t.spill != nil {
		all = append(all, t.spill.tool)
		ids = append(ids, identity{tool: t.spill.tool.def.Name, prefix: "toolset"})
	}
	for i, name := range assignNames(ids, t.opts.Prefix) {
		all[i] = all[i].named(name)
	}
	rest := all
	var hidden []*Tool
	for _, s := range t.servers {
		tools := slices.Clone(s.tools)
		for i, tool := range tools {
			if tool.views.ForModel {
				tools[i], rest = rest[0], rest[1:]
			} else {
				tools[i] = tool.named(tool.def.Name)
				hidden = append(hidden, tools[i])
			}
		}
		s.tools = tools
	}
	t.present.Store(newSnapshot(t.opts, servers, all, hidden))
}

// Catalog returns what the toolset has at present, for a provider. It is built
// once for all callers: with the same tools and profile it is the same value.
// Catalog panics when there is no such profile.
func (t *Toolset) Catalog(p Profile) *Catalog {
	build, ok := t.present.Load().catalogs[cmp.Or(p, ProfilePlain)]
	if !ok {
		panic(fmt.Sprintf("adapter: there is no profile %q", p))
	}
	return build()
}

// forModels are the tools that models may call.
func forModels(tools []*Tool) []*Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(tool *Tool) bool { return !tool.views.ForModel })
}

// serverLocked is the index of the server of that name, -1 if there is none.
func (t *Toolset) serverLocked(label string) int {
	return slices.IndexFunc(t.servers, func(s *server) bool { return s.label == label })
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
func (t *Toolset) Servers() []ServerStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]ServerStatus, len(t.servers))
	for i, s := range t.servers {
		if s.err != nil {
			out[i] = ServerStatus{Name: s.label, Err: s.err}
			continue
		}
		out[i] = ServerStatus{
			Name:      s.label,
			Client:    s.client,
			Rests:     s.dormant,
			Tools:     forModels(s.tools),
			Skipped:   append([]SkippedTool(nil), s.skipped...),
			Unmatched: slices.Clone(s.unmatched),

			AppTools: forViews(s.tools),
		}
		if s.client != nil {
			out[i].Ended = s.client.Err()
		}
	}
	return out
}

// Close ends the connections that the toolset made, all at the same time, and
// returns when they have ended. Calls under way end with an error. Like
// [mcpclient.Client.Close] it does not wait for the host's handlers. It may be called
// more than once, but not from OnChange.
func (t *Toolset) Close() error {
	t.mu.Lock()
	t.closed = true
	servers := slices.Concat(t.servers, t.retired)
	for _, s := range t.servers {
		if s != nil && s.policy.users != nil {
			servers = append(servers, s.policy.users.conns...)
		}
	}
	t.mu.Unlock()
	t.end()
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
	t.background.Wait()
	return errors.Join(errs...)
}
