package adapter

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// listing is the result of listing a server's tools.
type listing struct {
	tools     []*Tool
	skipped   map[string]error // why a tool cannot be offered
	unmatched []string         // entries of Allow and Deny that match no tool
}

// list asks for the server's tools, and stores the list for the next program. A tool that cannot be
// used is skipped. A server without tools has an empty list.
func (c *connector) list(ctx context.Context, s *server, opts ...mcpclient.CallOption) (l listing, err error) {
	if s.client.Server().Capabilities.Tools == nil {
		return l, nil
	}
	var defs []*mcp.Tool
	for def, err := range s.client.Tools(ctx, opts...) {
		if err != nil {
			return l, err
		}
		defs = append(defs, def)
		if len(defs) > c.opts.maxTools {
			return l, fmt.Errorf("lists more than %d tools", c.opts.maxTools)
		}
	}
	c.storeList(s, defs)
	return c.makeTools(s, defs), nil
}

// makeTools converts the definitions of a server to tools, and notes those that cannot be offered.
func (c *connector) makeTools(s *server, defs []*mcp.Tool) (l listing) {
	seen := map[string]bool{}
	var listed []string
	for _, def := range defs {
		listed = append(listed, def.Name)
		tool, err := c.makeTool(s, def)
		if tool != nil && seen[def.Name] {
			err = errors.New("listed twice: the first one is used")
		}
		switch {
		case err != nil:
			l.recordSkipped(s, def.Name, err)
		case tool != nil:
			seen[def.Name] = true
			l.tools = append(l.tools, tool)
		}
	}
	l.unmatched = s.unmatchedBy(listed)
	return l
}

// makeTool converts a definition to a tool. It returns nil if the host's filters exclude it.
func (c *connector) makeTool(s *server, def *mcp.Tool) (*Tool, error) {
	keep, err := s.passesFilters(def)
	if err != nil || !keep {
		return nil, err
	}
	tool, err := newTool(s.state, s.client, def, &c.schemas)
	if err != nil {
		return nil, err
	}
	tool.calls = c.calls
	if rename := s.state.recipe.Rename; rename != nil {
		if err := runGuarded(c.opts.Logger, "Server.Rename", func() error { tool.own = rename(def); return nil }); err != nil {
			return nil, err
		}
	}
	return tool, tool.applyRepeat()
}

// recordSkipped records that a tool is left out.
func (l *listing) recordSkipped(s *server, name string, err error) {
	s.state.opts.Logger.Warn("left out a tool", "server", s.state.label, "tool", excerpt.Limit(name, 200), "error", err)
	if l.skipped == nil {
		l.skipped = map[string]error{}
	}
	l.skipped[name] = err
}

// matchesAny reports whether a name matches one of the patterns of Allow or Deny.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches([]rune(p), []rune(name)) })
}

// matches reports whether a name matches a pattern, in time proportional to the product of their lengths.
func matches(pattern, name []rune) bool {
	p, n := 0, 0
	star, resume := -1, 0 // the last *, and where matching resumes after it
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			resume++
			p, n = star+1, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// passesFilters reports whether the host's filters include a tool. The error is a panic of the filter.
func (s *server) passesFilters(def *mcp.Tool) (keep bool, err error) {
	r := s.state.recipe
	allowed := len(r.Allow) == 0 || matchesAny(r.Allow, def.Name)
	if !allowed || matchesAny(r.Deny, def.Name) {
		return false, nil
	}
	if r.Filter == nil {
		return true, nil
	}
	err = runGuarded(s.state.opts.Logger, fmt.Sprintf("filter at tool %q", shortName(def)), func() error {
		keep = r.Filter(def)
		return nil
	})
	return keep, err
}

// unmatchedBy returns the entries of Allow and Deny that match no listed tool, except for a bare *.
func (s *server) unmatchedBy(listed []string) (out []string) {
	for _, p := range slices.Concat(s.state.recipe.Allow, s.state.recipe.Deny) {
		if p != "*" && !slices.ContainsFunc(listed, func(name string) bool { return matches([]rune(p), []rune(name)) }) {
			out = append(out, p)
		}
	}
	return out
}

// fingerprints returns the pins of tools, by the server's names.
func fingerprints(tools []*Tool) map[string]string {
	pins := make(map[string]string, len(tools))
	for _, tool := range tools {
		pins[tool.def.Name] = tool.fingerprint
	}
	return pins
}

// applyPins removes the tools that differ from their pins, and notes them as skipped. It returns the pins for the next
// listing: the given ones, or with [Policy.Pin] the pins of the first listing, or nil.
func (l *listing) applyPins(s *server, pins map[string]string) map[string]string {
	if pins == nil {
		if !s.state.policy.Pin {
			return nil
		}
		return fingerprints(l.tools)
	}
	l.tools = slices.DeleteFunc(l.tools, func(tool *Tool) bool {
		name := tool.def.Name
		if pins[name] == tool.fingerprint {
			return false
		}
		text := "tool %q has changed since it was pinned: review it and pin the fingerprint %s"
		if pins[name] == "" {
			text = "tool %q is not pinned: review it and add the fingerprint %s"
		}
		l.recordSkipped(s, name, fmt.Errorf(text, excerpt.Limit(name, 200), tool.fingerprint))
		return true
	})
	return pins
}

// diff returns the changes from the server's earlier list to the listing. It keeps the values of unchanged tools.
func (l *listing) diff(s *server) Event {
	e := Event{Server: s.state.label, Kind: ToolsChanged}
	before := map[string]*Tool{}
	for _, tool := range s.tools {
		before[tool.def.Name] = tool
	}
	for i, tool := range l.tools {
		name := tool.def.Name
		old := before[name]
		delete(before, name)
		was := old != nil && old.views.ForModel
		switch is := tool.views.ForModel; {
		case is && !was:
			e.Added = append(e.Added, name)
		case was && !is:
			e.Removed = append(e.Removed, name)
		case is && old.fingerprint != tool.fingerprint:
			e.Changed = append(e.Changed, name)
		}
		if old != nil && old.client == tool.client && old.own == tool.own && reflect.DeepEqual(old.def, tool.def) {
			l.tools[i] = old
		}
	}
	for _, tool := range s.tools {
		if tool.views.ForModel && before[tool.def.Name] != nil {
			e.Removed = append(e.Removed, tool.def.Name)
		}
	}
	return e
}
