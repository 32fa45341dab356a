package sandbox_test

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
)

const ancestor = "http://127.0.0.1:8080"

// directives takes a policy apart.
func directives(policy string) map[string]string {
	out := map[string]string{}
	for _, d := range strings.Split(policy, ";") {
		name, values, _ := strings.Cut(strings.TrimSpace(d), " ")
		out[name] += values
	}
	return out
}

// The policy of a view that declares nothing is the restrictive default of the
// specification, or tighter.
func TestPolicyDefault(t *testing.T) {
	got := directives(sandbox.Policy(apps.CSP{}, ancestor))
	for name, want := range map[string]string{
		"default-src": "'none'", "script-src": "'self' 'unsafe-inline'", "style-src": "'self' 'unsafe-inline'", "img-src": "'self' data:", "media-src": "'self' data:",
		"connect-src": "'none'", "frame-src": "'none'", "object-src": "'none'", "base-uri": "'self'", "font-src": "'none'", "form-action": "'none'", "frame-ancestors": ancestor,
	} {
		check.Equal(t, name, got[name], want)
		delete(got, name)
	}
	check.That(t, len(got) == 0, "got %v, too", got)
}

func TestPolicyDeclared(t *testing.T) {
	got := directives(sandbox.Policy(apps.CSP{
		ConnectDomains: []string{"https://api.example.com", "wss://live.example.com"}, ResourceDomains: []string{"https://*.cdn.example.com", "https://*.cdn.example.com"},
		FrameDomains: []string{"https://frames.example.com"}, BaseURIDomains: []string{"https://base.example.com"},
	}, ancestor))
	for name, want := range map[string]string{
		"default-src": "'none'", "connect-src": "https://api.example.com wss://live.example.com", "script-src": "'self' 'unsafe-inline' https://*.cdn.example.com",
		"style-src": "'self' 'unsafe-inline' https://*.cdn.example.com", "img-src": "'self' data: https://*.cdn.example.com", "media-src": "'self' data: https://*.cdn.example.com",
		"font-src": "https://*.cdn.example.com", "frame-src": "https://frames.example.com", "base-uri": "https://base.example.com", "object-src": "'none'", "frame-ancestors": ancestor,
	} {
		check.Equal(t, name, got[name], want)
	}
}

// FuzzPolicy declares any source anywhere: it stands in no policy, or as an origin.
func FuzzPolicy(f *testing.F) {
	for _, source := range []string{"'unsafe-eval'", "*", "https://a.example.com; script-src *", "https://a.example.com\nx", "data:", "https://*", "https://a.example.com 'unsafe-eval'", "https://a.example.com,x"} {
		f.Add(source)
	}
	plain := directives(sandbox.Policy(apps.CSP{}, ancestor))
	f.Fuzz(func(t *testing.T, source string) {
		all := []string{source}
		policy := sandbox.Policy(apps.CSP{ConnectDomains: all, ResourceDomains: all, FrameDomains: all, BaseURIDomains: all}, ancestor)
		check.That(t, !strings.ContainsAny(policy, "\r\n\x00,"), "%q: got %q", source, policy)
		clean, ok := apps.CheckSource(source)
		got := directives(policy)
		check.Require(t, len(got) == len(plain) && strings.Count(policy, ";") == len(plain)-1, "%q: got other directives: %q", source, policy)
		for name, values := range got {
			rest := strings.TrimSpace(strings.Replace(values, clean, "", 1))
			if !ok {
				rest = values
			}
			check.That(t, rest == plain[name] || (ok && rest == "" && (plain[name] == "'none'" || name == "base-uri")),
				"%q: got %s %q, without it %q", source, name, values, plain[name])
		}
	})
}
