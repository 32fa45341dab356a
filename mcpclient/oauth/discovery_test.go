package oauth

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestMetadataURLs(t *testing.T) {
	for issuer, want := range map[string][]string{
		"https://as.test":       {"https://as.test/.well-known/oauth-authorization-server", "https://as.test/.well-known/openid-configuration"},
		"https://as.test/":      {"https://as.test/.well-known/oauth-authorization-server", "https://as.test/.well-known/openid-configuration"},
		"https://as.test/a/b":   {"https://as.test/.well-known/oauth-authorization-server/a/b", "https://as.test/.well-known/openid-configuration/a/b", "https://as.test/a/b/.well-known/openid-configuration"},
		"https://as.test/a%2Fb": {"https://as.test/.well-known/oauth-authorization-server/a%2Fb", "https://as.test/.well-known/openid-configuration/a%2Fb", "https://as.test/a%2Fb/.well-known/openid-configuration"},
	} {
		check.Same(t, issuer, metadataURLs(check.Value(url.Parse(issuer))(t)), want)
	}
}

// Two servers at one origin are two resources, however their paths are written.
func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"HTTPS://Mcp.Test/a/":              "https://mcp.test/a",
		"https://mcp.test":                 "https://mcp.test",
		"https://mcp.test/a/b":             "https://mcp.test/a/b",
		"https://mcp.test/a%2Fb/":          "https://mcp.test/a%2Fb",
		"https://u:p@mcp.test/a%20b?x=1#f": "https://mcp.test/a%20b?x=1",
	} {
		check.Equal(t, in, canonical(check.Value(newTransport(in, nil))(t).server), want)
	}
}

// TestDiscoveryOrder puts the documents at one place each and records the requests.
func TestDiscoveryOrder(t *testing.T) {
	const prm, root, as, oidc = "GET https://mcp.test/.well-known/oauth-protected-resource/mcp", "GET https://mcp.test/.well-known/oauth-protected-resource",
		"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	for _, tt := range []struct {
		name    string
		arrange func(w *world)
		want    []string // requests up to the metadata
	}{
		{"well-known path", func(*world) {}, []string{prm, "GET " + issuerOne + as}},
		{"challenge", func(w *world) {
			w.challenge = `resource_metadata="https://mcp.test/elsewhere"`
			w.pages["mcp.test/elsewhere"] = document(map[string]any{"resource": serverURL, "authorization_servers": []string{issuerOne}})
		}, []string{"GET https://mcp.test/elsewhere", "GET " + issuerOne + as}},
		{"root", func(w *world) {
			w.resource = "https://mcp.test"
			w.pages["mcp.test/.well-known/oauth-protected-resource/mcp"] = http.NotFound
			w.pages["mcp.test/.well-known/oauth-protected-resource"] = document(map[string]any{"resource": "https://mcp.test", "authorization_servers": []string{issuerOne}})
		}, []string{prm, root, "GET " + issuerOne + as}},
		{"without a token endpoint", func(w *world) {
			w.meta["token_endpoint"] = nil
			w.pages["as.test"+oidc] = document(map[string]any{"issuer": issuerOne, "token_endpoint": issuerOne + "/token"})
		}, []string{prm, "GET " + issuerOne + as, "GET " + issuerOne + oidc}},
		{"issuer with path, appended", func(w *world) {
			w.issuers = []string{issuerOne + "/tenant"}
			w.pages["as.test/tenant"+oidc] = document(map[string]any{"issuer": issuerOne + "/tenant", "token_endpoint": issuerOne + "/token"})
		}, []string{prm, "GET " + issuerOne + as + "/tenant", "GET " + issuerOne + oidc + "/tenant", "GET " + issuerOne + "/tenant" + oidc}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			tt.arrange(w)
			_ = call(t.Context(), w.transport(w.options()))
			check.That(t, len(w.paths) >= len(tt.want) && slices.Equal(w.paths[:len(tt.want)], tt.want), "got %q, want first %q", w.paths, tt.want)
		})
	}
}

// document is a page with a JSON document.
func document(v any) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) { reply(rw, http.StatusOK, v) }
}

// TestMetadataIsChecked has one mistake in each row: no request may follow the metadata.
func TestMetadataIsChecked(t *testing.T) {
	const inner = "https://169.254.169.254/x"
	for _, tt := range []struct {
		name    string
		arrange func(w *world)
		want    string
	}{
		{"issuer differs", func(w *world) { w.meta["issuer"] = "https://evil.test" }, `from issuer "https://evil.test"`},
		{"issuer has a slash more", func(w *world) { w.meta["issuer"] = issuerOne + "/" }, "exactly"},
		{"issuer has a query", func(w *world) { w.meta["issuer"] = issuerOne + "?a=b" }, "not shown"},
		{"resource differs", func(w *world) { w.resource = "https://evil.test/mcp" }, `resource "https://evil.test/mcp"`},
		{"resource is a sibling", func(w *world) { w.resource = "https://mcp.test/mc" }, "instead of the server"},
		{"no PKCE", func(w *world) { w.meta["code_challenge_methods_supported"] = nil }, "PKCE"},
		{"plain PKCE", func(w *world) { w.meta["code_challenge_methods_supported"] = []string{"plain"} }, "PKCE"},
		{"no authorization server", func(w *world) { w.issuers = []string{} }, "names no authorization server"},
		{"issuer with query", func(w *world) { w.issuers = []string{issuerOne + "?a=b"} }, "query"},
		// a bad URL in each field
		{"URL of metadata", func(w *world) { w.challenge = `resource_metadata="` + inner + `"` }, ""},
		{"URL of issuer", func(w *world) { w.issuers = []string{"https://10.0.0.1"} }, ""},
		{"URL of authorization", func(w *world) { w.meta["authorization_endpoint"] = inner }, ""},
		{"javascript", func(w *world) { w.meta["authorization_endpoint"] = "javascript:alert(document.cookie)" }, ""},
		{"URL of token", func(w *world) { w.meta["token_endpoint"] = inner }, ""},
		{"plain URL of token", func(w *world) { w.meta["token_endpoint"] = "http://as.test/token" }, ""},
		{"URL of registration", func(w *world) { w.meta["registration_endpoint"] = "https://[::1]/register" }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			tt.arrange(w)
			wantUntrusted(t, call(t.Context(), w.transport(w.options())), tt.want)
			check.That(t, len(w.asked) == 0 && len(w.forms) == 0 && len(w.clients) == 0, "continued: asked %q, forms %v", w.asked, w.forms)
		})
	}
}

// legacyWorld is a server of revision 2025-03-26, with its own authorization server at the origin.
func legacyWorld(t *testing.T, withMetadata bool) *world {
	w := newWorld(t)
	const origin = "https://mcp.test"
	w.issuers = []string{origin}
	w.meta["issuer"], w.meta["token_endpoint"] = origin, origin+"/oauth/token"
	w.pages["mcp.test/.well-known/oauth-protected-resource/mcp"] = http.NotFound
	if withMetadata {
		w.meta["authorization_endpoint"], w.meta["registration_endpoint"] = origin+"/oauth/authorize", origin+"/oauth/register"
		w.pages["mcp.test/.well-known/oauth-authorization-server"] = w.authorization
	}
	prefix := map[bool]string{true: "/oauth", false: ""}[withMetadata]
	for _, path := range []string{"/authorize", "/token", "/register"} {
		w.pages["mcp.test"+prefix+path] = http.StripPrefix(prefix, http.HandlerFunc(w.authorization)).ServeHTTP
	}
	return w
}

func TestLegacyServers(t *testing.T) {
	for _, withMetadata := range []bool{true, false} {
		w := legacyWorld(t, withMetadata)
		if !withMetadata { // but a page for every path that it does not know
			for _, path := range []string{"protected-resource/mcp", "protected-resource", "authorization-server"} {
				w.pages["mcp.test/.well-known/oauth-"+path] = func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("\n<!doctype html>")) }
			}
		}
		w.mustCall(w.transport(w.options()))
		check.Equal(t, fmt.Sprint("resource, metadata ", withMetadata), w.forms[0].Get("resource"), serverURL)
		check.Equal(t, fmt.Sprint("method, metadata ", withMetadata), query(t, w.asked[0], "code_challenge_method"), "S256")
	}
}

// The issuer of a legacy server is its origin, which its SDK may write with a slash. Another issuer is not trusted.
func TestLegacyIssuer(t *testing.T) {
	w := legacyWorld(t, true)
	w.meta["issuer"] = "https://mcp.test/"
	w.meta["authorization_response_iss_parameter_supported"] = nil
	for _, server := range []string{serverURL, "https://MCP.test/mcp"} {
		auth := check.Value(New(server, answering(w, func(a url.Values) { a.Del("iss") })))(t)
		check.NoError(t, call(t.Context(), auth), server)
		check.NoError(t, auth.Close(), server)
	}
	w = legacyWorld(t, true)
	w.meta["issuer"] = "https://evil.test/"
	check.Is(t, call(t.Context(), w.transport(w.options())), ErrUntrusted)
	check.Equal(t, "sign-ins", len(w.asked), 0)
}

// TestLegacyOnlyWithoutMetadata: a failing server is not a legacy server.
func TestLegacyOnlyWithoutMetadata(t *testing.T) {
	w := legacyWorld(t, true)
	w.pages["mcp.test/.well-known/oauth-protected-resource/mcp"] = func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusBadGateway)
	}
	check.Text(t, call(t.Context(), w.transport(w.options())), "502")
	check.Equal(t, "sign-ins", len(w.asked), 0)
}

// TestNamedMetadataMustExist: a server that names metadata is not a legacy server.
func TestNamedMetadataMustExist(t *testing.T) {
	w := legacyWorld(t, true)
	w.challenge = `resource_metadata="https://mcp.test/nowhere"`
	check.Text(t, call(t.Context(), w.transport(w.options())), "that the server names")
	check.Equal(t, "sign-ins", len(w.asked), 0)
}

func TestOtherAuthenticationIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.scheme, w.challenge = "Basic", `realm="x"`
	check.Text(t, call(t.Context(), w.transport(w.options())), "HTTP status 401")
	check.Equal(t, "requests", len(w.paths), 0)
}

func TestDiscover(t *testing.T) {
	w := newWorld(t)
	w.supported = []string{"read", "write"}
	opts := w.options()
	opts.RequireDPoP = true // without the key: it is not an option for requests
	check.Same(t, "", check.Value(Discover(t.Context(), serverURL, opts))(t), []string{issuerOne})
	w.set(func() { w.pages["mcp.test/.well-known/oauth-protected-resource/mcp"] = http.NotFound })
	check.Is(t, check.Err(Discover(t.Context(), serverURL, w.options())), ErrNoAuthorization)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, check.Err(Discover(ended, serverURL, w.options())), context.Canceled)
}

func TestParseChallenges(t *testing.T) {
	type p = map[string]string
	for _, tt := range []struct {
		fields []string
		want   []challenge
	}{
		{nil, nil},
		{[]string{""}, nil},
		{[]string{"Bearer"}, []challenge{{"bearer", p{}}}},
		{[]string{`Bearer realm="a, b", Error=invalid_token`}, []challenge{{"bearer", p{"realm": "a, b", "error": "invalid_token"}}}},
		{[]string{`Basic realm="x", Bearer scope="a b", resource_metadata="https://h/p"`}, []challenge{
			{"basic", p{"realm": "x"}}, {"bearer", p{"scope": "a b", "resource_metadata": "https://h/p"}}}},
		{[]string{`Negotiate dGVzdA==, DPoP algs="ES256", Bearer`}, []challenge{{"negotiate", p{}}, {"dpop", p{"algs": "ES256"}}, {"bearer", p{}}}},
		{[]string{"Basic", "Bearer a=1"}, []challenge{{"basic", p{}}, {"bearer", p{"a": "1"}}}},
		{[]string{`Bearer a="x\"y\\" , b = 2`}, []challenge{{"bearer", p{"a": `x"y\`, "b": "2"}}}},
		{[]string{"Bearer a=1, a=2"}, []challenge{{"bearer", p{"a": "1"}}}},
		{[]string{`Bearer a="open`}, []challenge{{"bearer", p{}}}},
		{[]string{`Bearer a=1, b="open, Basic realm="x"`}, []challenge{{"bearer", p{"a": "1", "b": "open, Basic realm="}}}},
		{[]string{", ,Bearer ,a=1"}, []challenge{{"bearer", p{"a": "1"}}}},
		{[]string{`@`}, nil},
	} {
		check.Same(t, tt.fields, parseChallenges(tt.fields), tt.want, cmp.AllowUnexported(challenge{}))
	}
}

func TestParseChallengesIsBounded(t *testing.T) {
	check.Equal(t, "challenges", len(parseChallenges([]string{strings.Repeat("Bearer, ", 1000)})), maxChallenges)
	got := parseChallenges([]string{"Bearer a=" + strings.Repeat("x", maxChallengeHeader)})
	check.That(t, got == nil, "got %d challenges of a header over the bound, want none", len(got))
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "p%d=1,", i)
	}
	check.Equal(t, "parameters", len(parseChallenges([]string{"Bearer " + many.String()})[0].params), maxChallengeParams)
}

// written is a challenge in a server's form.
func written(c challenge) string {
	var params []string
	for name, value := range c.params {
		params = append(params, name+`="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)+`"`)
	}
	slices.Sort(params)
	return strings.TrimSpace(c.scheme + " " + strings.Join(params, ", "))
}

func FuzzParseChallenges(f *testing.F) {
	for _, seed := range []string{"Bearer", `Bearer a="b\"", Basic x==, DPoP algs="ES256 ES384"`, `a b=c, d e="`, "Negotiate a/b+c==", ",,,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		found := parseChallenges([]string{field, "Bearer x=1"})
		var again []string
		for _, c := range found {
			again = append(again, written(c))
		}
		// Written again in one field, the challenges are the same, if each has parameters and the field is within the bound.
		one := strings.Join(again, ", ")
		diff := cmp.Diff(parseChallenges([]string{one}), found, cmp.AllowUnexported(challenge{}))
		check.That(t, len(one) > maxChallengeHeader || diff == "", "%q, written %q: got -, want +:\n%s", field, one, diff)
		for _, c := range found {
			check.That(t, c.scheme != "" && c.scheme == strings.ToLower(c.scheme) && !strings.ContainsAny(c.scheme, " ,=\""), "%q: scheme %q", field, c.scheme)
			for name := range c.params {
				check.That(t, name != "" && name == strings.ToLower(name), "%q: parameter %q", field, name)
			}
		}
		parseDemand(http.Header{"Www-Authenticate": {field}}, true)
	})
}

func TestDemandOf(t *testing.T) {
	for _, tt := range []struct {
		fields []string
		dpop   bool
		want   *demand
		ours   bool
	}{
		{nil, false, &demand{}, true},
		{[]string{`Basic realm="x"`}, false, &demand{}, false},
		{[]string{`Basic realm="x"`, `Bearer scope="b a b", error="invalid_token"`}, false, &demand{scheme: "bearer", code: "invalid_token", scopes: []string{"b", "a"}}, true},
		{[]string{`Bearer scope="a"`, `Bearer resource_metadata="https://h"`}, false, &demand{scheme: "bearer", metadata: "https://h"}, true},
		{[]string{`Bearer scope="a", DPoP algs="ES256", resource_metadata="https://h"`}, false, &demand{scheme: "bearer", metadata: "https://h", scopes: []string{"a"}}, true},
		{[]string{`Bearer scope="a", DPoP scope="d"`}, true, &demand{scheme: "dpop", scopes: []string{"d"}}, true},
	} {
		got, ours := parseDemand(http.Header{"Www-Authenticate": tt.fields}, tt.dpop)
		check.That(t, ours == tt.ours && reflect.DeepEqual(got, tt.want), "%q: got %+v, %v, want %+v, %v", tt.fields, got, ours, tt.want, tt.ours)
	}
}
