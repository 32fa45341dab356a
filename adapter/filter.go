package adapter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// DeclaresReadOnly is a [Server.Filter] that keeps the tools that declare that they change nothing.
// The declaration is the server's own.
func DeclaresReadOnly(tool *mcp.Tool) bool {
	a := tool.Annotations
	return a != nil && a.ReadOnlyHint != nil && *a.ReadOnlyHint
}

// matchesAny reports whether a name matches one of the patterns of Allow or Deny.
func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

var wildcards = strings.NewReplacer(`\*`, `.*`, `\?`, `.`)

// matches reports whether a name matches a pattern.
func matches(pattern, name string) bool {
	expr := wildcards.Replace(regexp.QuoteMeta(strings.ToValidUTF8(pattern, "\ufffd")))
	return regexp.MustCompile("(?s)^" + expr + "$").MatchString(strings.ToValidUTF8(name, "\ufffd"))
}

// passesFilters reports whether the host's filters include a tool. The error is a panic of the
// filter.
func (s *server) passesFilters(def *mcp.Tool) (keep bool, err error) {
	r := s.recipe
	allowed := len(r.Allow) == 0 || matchesAny(r.Allow, def.Name)
	if !allowed || matchesAny(r.Deny, def.Name) {
		return false, nil
	}
	if r.Filter == nil {
		return true, nil
	}
	err = runGuarded(s.state.log, fmt.Sprintf("filter at tool %q", excerpt.Limit(def.Name, 200)), func() error {
		keep = r.Filter(def)
		return nil
	})
	return keep, err
}

// unmatchedBy returns the entries of Allow and Deny that match no listed tool, except for a bare *.
func (s *server) unmatchedBy(listed []string) (out []string) {
	for _, p := range slices.Concat(s.recipe.Allow, s.recipe.Deny) {
		if p != "*" && !slices.ContainsFunc(listed, func(name string) bool { return matches(p, name) }) {
			out = append(out, p)
		}
	}
	return out
}
