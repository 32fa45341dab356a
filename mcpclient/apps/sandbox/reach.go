package sandbox

import (
	"net/url"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient/apps"
)

// allowedSources returns the declared sources that a view of this sandbox gets, and the others.
func (s *Sandbox) allowedSources(declared apps.CSP) (csp apps.CSP, refused []string) {
	keep := func(sources []string) (kept []string) {
		for _, source := range sources {
			if s.isOwn(source) || !s.allowPrivate && apps.IsPrivate(source) {
				refused = append(refused, source)
			} else {
				kept = append(kept, source)
			}
		}
		return kept
	}
	csp.ConnectDomains = keep(declared.ConnectDomains)
	csp.ResourceDomains = keep(declared.ResourceDomains)
	csp.FrameDomains = keep(declared.FrameDomains)
	csp.BaseURIDomains = keep(declared.BaseURIDomains)
	return csp, refused
}

// isOwn reports whether a source has an origin of the host or the sandbox, or is another port of
// the host, which gets the host's cookies. On a private host other ports are other programs: see
// Options.AllowPrivate. A source that cannot be parsed counts as own.
func (s *Sandbox) isOwn(source string) bool {
	u, err := url.Parse(source)
	if err != nil {
		return true
	}
	for _, own := range append([]string{s.scheme + "://" + s.host}, s.ancestors...) {
		o, err := url.Parse(own)
		if err != nil || !covers(u.Hostname(), o.Hostname()) {
			continue
		}
		if !apps.IsPrivate(own) || portOf(u) == portOf(o) {
			return true
		}
	}
	return false
}

// covers reports whether two hosts have a name in common; each may begin with a star.
func covers(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	under := func(name, pattern string) bool {
		above, wild := strings.CutPrefix(pattern, "*.")
		return wild && strings.HasSuffix(strings.TrimPrefix(name, "*"), "."+above)
	}
	return a == b || under(a, b) || under(b, a)
}

// portOf returns the port of a source, even if it is the scheme's.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http", u.Scheme == "ws":
		return "80"
	}
	return "443"
}
