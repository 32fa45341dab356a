package oauth

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxScopes     = 64  // bounds the scopes of one request
	maxScope      = 256 // bytes of one scope
	offlineAccess = "offline_access"
)

// splitScopes reads a server's list of scopes. Malformed scopes are left out.
func splitScopes(list string) []string { return cleanScopes(strings.Fields(list)) }

// cleanScopes returns the distinct well-formed scopes of a list, at most one more than maxScopes.
func cleanScopes(list []string) []string {
	var out []string
	for _, s := range list {
		if len(out) > maxScopes {
			break // one more than allowed; scopesFor refuses it
		}
		if isScope(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// checkScopes returns an error for scopes of the host that cannot be requested. Left out, they
// would stand for all scopes of the server.
func checkScopes(list []string) error {
	for _, s := range list {
		if !isScope(s) {
			return fmt.Errorf("Options.Scopes: %q is not a scope: "+
				"want up to %d visible ASCII characters other than quotes and backslashes", cut(s), maxScope)
		}
	}
	if len(list) > maxScopes {
		return fmt.Errorf("Options.Scopes has %d scopes, want at most %d", len(list), maxScopes)
	}
	return nil
}

// isScope reports whether a text is a scope of at most maxScope bytes.
func isScope(s string) bool {
	return s != "" && len(s) <= maxScope && !strings.ContainsFunc(s, notScopeChar)
}

// notScopeChar is the complement of RFC 6749's scope-token.
func notScopeChar(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }

// union returns the scopes of a, then those that are only in b.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// covers reports whether have contains all of want.
func covers(have, want []string) bool {
	return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
}

// wasAskedFor reports whether the scopes were granted with the token or requested for it.
func (t *token) wasAskedFor(scopes []string) bool {
	return covers(union(t.Granted, t.Requested), scopes)
}

// scopesFor selects the scopes to request.
//
// 2026-07-28 authorization: the scopes of the challenge, else all of the resource's metadata, else
// none at all; and on a later request the union of the scopes that were requested before and those
// that are demanded now. Options.Scopes replace those of the metadata.
func scopesFor(d *demand, s *site, before *token, configured []string) ([]string, error) {
	var want []string
	switch {
	case before != nil && (len(before.Requested) > 0 || len(d.scopes) > 0):
		want = union(before.Requested, d.scopes)
	case len(d.scopes) > 0:
		want = d.scopes
	case len(configured) > 0:
		want = configured
	default:
		want = s.scopes
	}
	if len(want) > maxScopes {
		return nil, fmt.Errorf("%s demands more than %d scopes: set Options.Scopes to the needed scopes", safeURL(s.resource), maxScopes)
	}
	return slices.Clone(want), nil
}

// withOffline adds the scope for a refresh token if the server supports it. It does not add it to
// an empty list, where it would replace the server's default.
func withOffline(scopes []string, m *issuerMetadata) []string {
	if len(scopes) == 0 || !slices.Contains(m.ScopesSupported, offlineAccess) {
		return scopes
	}
	return union(scopes, []string{offlineAccess})
}
