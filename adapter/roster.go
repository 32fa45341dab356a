package adapter

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// roster holds the servers of a toolset, their goroutines, and the present tools.
type roster struct {
	opts    *Options
	own     *Tool                    // the toolset's own tool, or nil
	present atomic.Pointer[snapshot] // the tools of all servers

	life       context.Context // context of the goroutines of servers; ends with the toolset
	end        context.CancelFunc
	background sync.WaitGroup // the goroutines of servers, and what else Close waits for

	mu      sync.Mutex // also guards fields of servers that say so
	servers []*server
	retired []*server // replaced servers with current calls
	closed  bool
}

func newRoster(o *Options) *roster {
	r := &roster{opts: o}
	r.life, r.end = context.WithCancel(context.Background())
	r.present.Store(newSnapshot(o, nil, nil, nil))
	return r
}

// start runs a goroutine of a server. It returns false if the toolset is closed.
func (r *roster) start(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.startLocked(f)
}

func (r *roster) startLocked(f func()) bool {
	if r.closed {
		return false
	}
	r.background.Go(f)
	return true
}

// withLife returns a context that also ends with the toolset.
func (r *roster) withLife(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(r.life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// current returns the present version of a tool, whose name and connection may differ. The error is an [ErrStale].
func (r *roster) current(t *Tool) (*Tool, error) { return r.present.Load().find(t) }

// buildLocked names the tools, and replaces the snapshot if they or the servers have changed. A renamed tool is a new value,
// since callers may hold the old one.
func (r *roster) buildLocked() {
	names := r.namesLocked()
	var servers []*serverState
	var all, hidden []*Tool
	for _, s := range r.servers {
		servers = append(servers, s.state)
		s.tools = slices.Clone(s.tools)
		for i, tool := range s.tools {
			if tool.views.ForModel {
				s.tools[i] = tool.withName(names[len(all)])
				all = append(all, s.tools[i])
			} else {
				s.tools[i] = tool.withName(tool.def.Name)
				hidden = append(hidden, s.tools[i])
			}
		}
	}
	if r.own != nil {
		r.own = r.own.withName(names[len(all)])
		all = append(all, r.own)
	}
	if !r.present.Load().has(servers, all, hidden) {
		r.present.Store(newSnapshot(r.opts, servers, all, hidden))
	}
}

// namesLocked returns the names of the tools for models, in the order of the servers, with the toolset's own tool at the end.
func (r *roster) namesLocked() []string {
	var ids []identity
	for _, s := range r.servers {
		for _, tool := range s.tools {
			if tool.views.ForModel {
				ids = append(ids, identity{server: s.state.label, tool: tool.def.Name, own: tool.own})
			}
		}
	}
	if r.own != nil {
		ids = append(ids, identity{tool: r.own.def.Name})
	}
	return assignNames(ids, r.opts.AlwaysPrefix)
}

// indexLocked returns the index of the server with that name, or -1.
func (r *roster) indexLocked(label string) int {
	return slices.IndexFunc(r.servers, func(s *server) bool { return s.state.label == label })
}

// find returns the present connection to a server, nil if it was removed.
func (r *roster) find(state *serverState) *server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.findLocked(state)
}

func (r *roster) findLocked(state *serverState) *server {
	i := slices.IndexFunc(r.servers, func(s *server) bool { return s.state == state })
	if i < 0 {
		return nil
	}
	return r.servers[i]
}

// delayClose makes Close wait until done is called. done is nil if the toolset is closed or does not have the server.
func (r *roster) delayClose(s *server) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !slices.Contains(r.servers, s) {
		return nil
	}
	r.background.Add(1)
	return r.background.Done
}

// listNamed returns the servers with these names, or all that are not dormant if names is empty. The
// error names a server that is not there.
func (r *roster) listNamed(names []string) ([]*server, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errToolsetClosed
	}
	for _, name := range names {
		if r.indexLocked(name) < 0 {
			return nil, fmt.Errorf("there is no server %q", name)
		}
	}
	return slices.DeleteFunc(slices.Clone(r.servers), func(s *server) bool {
		if len(names) == 0 {
			return s.dormant
		}
		return !slices.Contains(names, s.state.label)
	}), nil
}

// add adds a server at the end. The error says that its name is taken.
func (r *roster) add(s *server) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errToolsetClosed
	}
	if r.indexLocked(s.state.label) >= 0 {
		return fmt.Errorf("server %q is there already: give each a name of its own", s.state.label)
	}
	r.servers = append(r.servers, s)
	r.buildLocked()
	return nil
}

// fail sets the error of a server that is not open to the latest one.
func (r *roster) fail(s *server, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.err != nil {
		s.err = err
	}
}

// remove removes a server and returns it, nil if there is none that matches.
func (r *roster) remove(matches func(*server) bool) *server {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.servers, matches)
	if i < 0 {
		return nil
	}
	s := r.servers[i]
	s.end()
	r.servers = append(r.servers[:i:i], r.servers[i+1:]...)
	r.buildLocked()
	return s
}

// replace replaces a server by the result of change, possibly itself. change is called with the lock held, may modify both
// servers, and returns nil to keep the old one. replace returns false then, and if the toolset is closed or the server was
// removed.
func (r *roster) replace(old *server, change func() (next *server)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.servers, old)
	if i < 0 || r.closed {
		return false
	}
	next := change()
	if next == nil {
		return false
	}
	r.servers[i] = next
	r.buildLocked()
	return true
}

// status returns the state of the servers.
func (r *roster) status() []ServerStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]ServerStatus, len(r.servers))
	for i, s := range r.servers {
		out[i] = s.statusLocked()
	}
	return out
}
