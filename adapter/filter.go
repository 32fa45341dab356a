package adapter

import (
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
	r := s.recipe
	allowed := len(r.Allow) == 0 || matchesAny(r.Allow, def.Name)
	if !allowed || matchesAny(r.Deny, def.Name) {
		return false, nil
	}
	if r.Filter == nil {
		return true, nil
	}
	err = runGuarded(s.state.log, fmt.Sprintf("filter at tool %q", shortName(def)), func() error {
		keep = r.Filter(def)
		return nil
	})
	return keep, err
}

// unmatchedBy returns the entries of Allow and Deny that match no listed tool, except for a bare *.
func (s *server) unmatchedBy(listed []string) (out []string) {
	for _, p := range slices.Concat(s.recipe.Allow, s.recipe.Deny) {
		if p != "*" && !slices.ContainsFunc(listed, func(name string) bool { return matches([]rune(p), []rune(name)) }) {
			out = append(out, p)
		}
	}
	return out
}
