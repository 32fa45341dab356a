package sandbox_test

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/internal/source"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
)

const ancestor = "http://127.0.0.1:8080"

func directives(policy string) map[string]string {
	out := map[string]string{}
	for _, d := range strings.Split(policy, ";") {
		name, values, _ := strings.Cut(strings.TrimSpace(d), " ")
		out[name] += values
	}
	return out
}

// The policy of a view that declares nothing is the restrictive default of the specification, or
// tighter. Of what it declares it gets each source once.
func TestPolicy(t *testing.T) {
	declared := apps.CSP{
		ConnectDomains:  []string{"https://api.example.com", "wss://live.example.com"},
		ResourceDomains: []string{"https://*.cdn.example.com", "https://*.cdn.example.com"},
		FrameDomains:    []string{"https://frames.example.com"}, BaseURIDomains: []string{"https://base.example.com"},
	}
	var plain, full []string
	for _, d := range [][3]string{ // directive, default, declared
		{"default-src", "'none'", "'none'"},
		{"script-src", "'self' 'unsafe-inline'", "'self' 'unsafe-inline' https://*.cdn.example.com"},
		{"style-src", "'self' 'unsafe-inline'", "'self' 'unsafe-inline' https://*.cdn.example.com"},
		{"img-src", "'self' data:", "'self' data: https://*.cdn.example.com"},
		{"media-src", "'self' data:", "'self' data: https://*.cdn.example.com"},
		{"font-src", "'none'", "https://*.cdn.example.com"},
		{"connect-src", "'none'", "https://api.example.com wss://live.example.com"},
		{"frame-src", "'none'", "https://frames.example.com"},
		{"object-src", "'none'", "'none'"},
		{"form-action", "'none'", "'none'"},
		{"base-uri", "'self'", "https://base.example.com"},
		{"frame-ancestors", ancestor, ancestor},
	} {
		plain, full = append(plain, d[0]+" "+d[1]), append(full, d[0]+" "+d[2])
	}
	check.Equal(t, "default", sandbox.Policy(apps.CSP{}, ancestor), strings.Join(plain, "; "))
	check.Equal(t, "declared", sandbox.Policy(declared, ancestor), strings.Join(full, "; "))
}

// FuzzPolicy declares any source anywhere: it stands in no policy, or as an origin.
func FuzzPolicy(f *testing.F) {
	for _, source := range []string{"'unsafe-eval'", "*", "https://a.example.com; script-src *", "https://a.example.com\nx", "data:", "https://*", "https://a.example.com 'unsafe-eval'", "https://a.example.com,x"} {
		f.Add(source)
	}
	plain := directives(sandbox.Policy(apps.CSP{}, ancestor))
	f.Fuzz(func(t *testing.T, declared string) {
		all := []string{declared}
		policy := sandbox.Policy(apps.CSP{ConnectDomains: all, ResourceDomains: all, FrameDomains: all, BaseURIDomains: all}, ancestor)
		check.That(t, !strings.ContainsAny(policy, "\r\n\x00,"), "%q: got %q", declared, policy)
		clean, ok := source.Normalize(declared, true)
		got := directives(policy)
		check.Require(t, len(got) == len(plain) && strings.Count(policy, ";") == len(plain)-1, "%q: got other directives: %q", declared, policy)
		for name, values := range got {
			rest := strings.TrimSpace(strings.Replace(values, clean, "", 1))
			if !ok {
				rest = values
			}
			check.That(t, rest == plain[name] || (ok && rest == "" && (plain[name] == "'none'" || name == "base-uri")),
				"%q: got %s %q, without it %q", declared, name, values, plain[name])
		}
	})
}
