package adapter

import (
	"slices"
	"sync"
)

// snapshot is the state of a toolset at one moment. It is immutable.
type snapshot struct {
	servers  []*serverState
	tools    []*Tool // for models
	hidden   []*Tool // from models
	current  map[toolID]*Tool
	catalogs catalogs
	views    func() *Catalog // the tools for views
}

// newSnapshot returns a snapshot of the tools for models and of the tools that are hidden from them.
func newSnapshot(o *Options, servers []*serverState, all, hidden []*Tool) *snapshot {
	s := &snapshot{
		servers: servers, tools: all, hidden: hidden,
		current: make(map[toolID]*Tool, len(all)), catalogs: newCatalogs(all, o),
	}
	for _, tool := range slices.Concat(all, hidden) {
		s.current[tool.id()] = tool
	}
	s.views = sync.OnceValue(func() *Catalog { return viewCatalog(o, forViews(slices.Concat(all, hidden))) })
	return s
}

// has reports whether these are the servers and tools of the snapshot.
func (s *snapshot) has(servers []*serverState, all, hidden []*Tool) bool {
	return slices.Equal(s.servers, servers) && slices.Equal(s.tools, all) && slices.Equal(s.hidden, hidden)
}

// find returns the version of a tool in this snapshot. The error matches [ErrStale].
func (s *snapshot) find(t *Tool) (*Tool, error) {
	now, ok := s.current[t.id()]
	gone := ok && t.views.ForModel && !now.views.ForModel // models may no longer call it
	if ok && !gone && now.fingerprint == t.fingerprint {
		return now, nil
	}
	err := &staleToolError{tool: t.name, server: t.server.label, reason: toolChanged}
	switch {
	case ok && !gone:
	case slices.Contains(s.servers, t.server):
		err.reason = toolGone
	default:
		err.reason = serverGone
	}
	return nil, err
}
