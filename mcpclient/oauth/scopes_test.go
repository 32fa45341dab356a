package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestScopeSelection(t *testing.T) {
	for _, tt := range []struct {
		name, challenge       string
		supported, configured []string
		server                []string // scopes_supported of the authorization server
		want                  string
	}{
		{name: "challenge", challenge: `scope="a b"`, supported: []string{"x"}, configured: []string{"y"}, want: "a b"},
		{name: "configured", supported: []string{"x"}, configured: []string{"y"}, want: "y"},
		{name: "metadata", supported: []string{"x", "z"}, want: "x z"},
		{name: "none", want: ""},
		{name: "offline access", supported: []string{"x"}, server: []string{"x", "offline_access"}, want: "x offline_access"},
		{name: "offline access alone would be another default", server: []string{"offline_access"}, want: ""},
		{name: "no offline access", supported: []string{"x"}, server: []string{"x"}, want: "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.challenge, w.supported = tt.challenge, tt.supported
			if tt.server != nil {
				w.meta["scopes_supported"] = tt.server
			}
			opts := w.options()
			opts.Scopes = tt.configured
			w.mustCall(w.transport(opts))
			check.Equal(t, "scope", query(t, w.asked[0], "scope"), tt.want)
			got := query(t, w.asked[0], "prompt")
			check.That(t, (got == "consent") == strings.Contains(tt.want, offlineAccess), "got prompt %q", got)
		})
	}
}

func TestStepUp(t *testing.T) {
	w := newWorld(t)
	w.challenge = `scope="read"`
	auth := w.transport(w.options())
	w.mustCall(auth)
	w.set(func() { w.need = []string{"write"} })
	w.mustCall(auth)
	check.Equal(t, "scope", query(t, w.asked[1], "scope"), "read write")
	w.set(func() { w.need = []string{"read", "write"} })
	w.mustCall(auth)
	check.Equal(t, "sign-ins", len(w.asked), 2)
}

// TestStepUpGivenUp: the token, which stays, can still be refreshed.
func TestStepUpGivenUp(t *testing.T) {
	w := newWorld(t)
	auth := w.transport(w.options())
	w.mustCall(auth)
	w.set(func() { w.need, w.pages["as.test/authorize"] = []string{"write"}, http.NotFound })
	check.Fails(t, call(t.Context(), auth), "no answer")
	w.set(func() { w.need = nil })
	w.revoke()
	w.mustCall(auth)
	check.Same(t, "grants", w.grants(), []string{"authorization_code", "refresh_token"})
}

// TestStepUpThatCannotHelp: a requested scope is not requested again.
func TestStepUpThatCannotHelp(t *testing.T) {
	w := newWorld(t)
	w.challenge = `scope="read"`
	auth := w.transport(w.options())
	w.mustCall(auth)
	w.set(func() {
		w.need = []string{"admin"}
		w.pages["as.test/token"] = func(rw http.ResponseWriter, _ *http.Request) { // grants only read
			w.set(func() {
				w.issueLocked(rw, &issued{issuer: issuerOne, resource: serverURL, scopes: []string{"read"}}, "Bearer")
			})
		}
	})
	for range 3 {
		err := call(t.Context(), auth)
		if scope, ok := errors.AsType[*ServerError](err); !ok || scope.Code != codeScope || !slices.Equal(scope.scopes, []string{"admin"}) || !strings.Contains(err.Error(), `the scopes "admin"`) {
			t.Errorf("got %v, want that admin is out of reach", err)
		}
	}
	check.Equal(t, "sign-ins, one for admin", len(w.asked), 2)
	w.set(func() { w.need = nil })
	w.mustCall(auth)
}

// TestStepUpsAreBounded: a server that always wants another scope.
func TestStepUpsAreBounded(t *testing.T) {
	w, n := newWorld(t), 0
	w.pages["mcp.test/mcp"] = func(rw http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") == "" {
			w.protected(rw, req)
			return
		}
		n++
		rw.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope="s%d"`, n))
		rw.WriteHeader(http.StatusForbidden)
	}
	check.Text(t, call(t.Context(), w.transport(w.options())), "gave up after 3 requests")
	check.Equal(t, "sign-ins", len(w.asked), 4)
}

func TestScopesAreBounded(t *testing.T) {
	w := newWorld(t)
	for i := range maxScopes + 1 {
		w.supported = append(w.supported, fmt.Sprintf("s%d", i))
	}
	w.resource = serverURL + "?key=query-of-the-server"
	auth := check.Value(New(w.resource, w.options()))(t)
	defer func() { _ = auth.Close() }()
	err := call(t.Context(), auth)
	check.That(t, err != nil && strings.Contains(err.Error(), "more than 64 scopes") && !strings.Contains(err.Error(), "query-of") && len(w.asked) == 0,
		"got %v, %q, want no request with so many scopes", err, w.asked)
	check.Same(t, "", splitScopes("ok \"no\" b\\ad "+strings.Repeat("x", maxScope+1)+" \u00fc ok fine"), []string{"ok", "fine"})
}

// TestForbiddenIsPassedOn: a 403 without scopes is passed on.
func TestForbiddenIsPassedOn(t *testing.T) {
	w := newWorld(t)
	w.pages["mcp.test/mcp"] = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) }
	check.Text(t, call(t.Context(), w.transport(w.options())), "403")
	check.Equal(t, "requests", len(w.paths), 0)
}

// TestStepUpWithoutErrorCode: servers of the official Go SDK name the scopes, but not the error.
func TestStepUpWithoutErrorCode(t *testing.T) {
	w := newWorld(t)
	w.pages["mcp.test/mcp"] = func(rw http.ResponseWriter, req *http.Request) {
		if got := w.tokens[strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")]; got != nil && !covers(got.scopes, []string{"write"}) {
			rw.Header().Set("WWW-Authenticate", `Bearer scope="write"`)
			rw.WriteHeader(http.StatusForbidden)
			return
		}
		w.protected(rw, req)
	}
	w.mustCall(w.transport(w.options()))
	check.Equal(t, "sign-ins", len(w.asked), 2)
}
