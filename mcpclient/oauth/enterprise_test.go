package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

func assertion(text string) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return text, nil }
}

func enterprise(t *testing.T, clients []Credentials) *Enterprise {
	t.Helper()
	return &Enterprise{
		Clients:       clients,
		TokenEndpoint: "https://idp.test/token",
		Client:        Credentials{Issuer: "https://idp.test", ID: "host", Secret: "the-secret-of-host"},
		SubjectToken:  func(context.Context) (string, error) { return "the-id-token", nil },
	}
}

func TestEnterprise(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.noRefresh, w.challenge = true, `scope="read"`
		var exchanges []url.Values
		w.pages["idp.test/token"] = func(rw http.ResponseWriter, req *http.Request) {
			_ = req.ParseForm()
			exchanges = append(exchanges, req.PostForm)
			_, password, ok := req.BasicAuth()
			check.That(t, ok && password == "the-secret-of-host", "got password %q", password)
			reply(rw, http.StatusOK, map[string]any{
				"access_token": fmt.Sprintf("id-jag-%d", len(exchanges)), "issued_token_type": tokenTypeIDJAG, "token_type": "N_A", "expires_in": 300,
			})
		}
		auth := w.transport(w.granted(enterprise(t, []Credentials{{Issuer: issuerOne, ID: "svc", Secret: "the-secret-of-svc"}})))
		w.mustCall(auth)
		time.Sleep(2 * time.Hour)
		w.mustCall(auth)
		want := url.Values{
			"grant_type": {grantTokenExchange}, "requested_token_type": {tokenTypeIDJAG}, "audience": {issuerOne}, "resource": {serverURL},
			"subject_token": {"the-id-token"}, "subject_token_type": {tokenTypeID}, "scope": {"read"},
		}
		check.That(t, len(exchanges) == 2 && exchanges[0].Encode() == want.Encode(), "got exchanges %v, want two like %v", exchanges, want)
		for i, form := range w.forms {
			if form.Get("grant_type") != grantJWTBearer || form.Get("assertion") != fmt.Sprintf("id-jag-%d", i+1) || form.Get("resource") != serverURL {
				t.Errorf("got token request %v, want a new assertion in each", form)
			}
			check.That(t, strings.HasPrefix(w.heads[i].Get("Authorization"), "Basic "), "got header %v", w.heads[i])
		}
		for _, req := range w.seen {
			check.That(t, !strings.Contains(req.Header.Get("Authorization"), "id-jag"), "the assertion was used as a token")
		}
	})
}

// TestEnterpriseWrongAnswer: the provider's answer is not an assertion.
func TestEnterpriseWrongAnswer(t *testing.T) {
	for name, answer := range map[string]map[string]any{
		"an access token": {"access_token": "x", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "Bearer"},
		"a bearer":        {"access_token": "x", "issued_token_type": tokenTypeIDJAG, "token_type": "Bearer"},
		"nothing":         {"issued_token_type": tokenTypeIDJAG, "token_type": "N_A"},
	} {
		w := newWorld(t)
		w.pages["idp.test/token"] = document(answer)
		err := call(t.Context(), w.transport(w.granted(enterprise(t, []Credentials{{Issuer: issuerOne, ID: "svc", Secret: "the-secret-of-svc"}}))))
		check.That(t, err != nil && strings.Contains(err.Error(), "not an assertion") && len(w.forms) == 0, "%s: got %v, want a refusal", name, err)
	}
}

func TestWorkload(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.noRefresh = true
		n := 0
		grant := &Workload{Issuers: []string{issuerOne}, Assertion: func(_ context.Context, issuer string) (string, error) {
			n++
			return fmt.Sprintf("assertion-%d-for-%s", n, issuer), nil
		}}
		auth := w.transport(w.granted(grant))
		w.mustCall(auth)
		time.Sleep(2 * time.Hour)
		w.mustCall(auth)
		for i, form := range w.forms {
			want := url.Values{"grant_type": {grantJWTBearer}, "assertion": {fmt.Sprintf("assertion-%d-for-%s", i+1, issuerOne)}, "resource": {serverURL}}
			check.Equal(t, "", form.Encode(), want.Encode())
		}
		check.That(t, len(w.forms) == 2 && len(w.clients) == 0, "got %d token requests, %d registrations, want 2, 0", len(w.forms), len(w.clients))
	})
}

// TestWorkloadRefused: neither the same assertion again nor another grant.
func TestWorkloadRefused(t *testing.T) {
	w, tries := newWorld(t), 0
	w.pages["as.test/token"] = func(rw http.ResponseWriter, _ *http.Request) {
		tries++
		reply(rw, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
	}
	text := "assertion-1"
	auth := w.transport(w.granted(&Workload{Issuers: []string{issuerOne}, Assertion: func(context.Context, string) (string, error) { return text, nil }}))
	refused, ok := errors.AsType[*ServerError](call(t.Context(), auth))
	check.That(t, ok && refused.Code == "invalid_grant", "got %v, want invalid_grant", refused)
	if err := call(t.Context(), auth); err == nil || !strings.Contains(err.Error(), "refused this very assertion") || tries != 1 {
		t.Errorf("got %v after %d requests, want the assertion to be sent once", err, tries)
	}
	text = "assertion-2"
	err := call(t.Context(), auth)
	check.That(t, err != nil && tries == 2, "got %v after %d requests, want another assertion to be tried", err, tries)
	check.That(t, !slices.ContainsFunc(w.paths, func(p string) bool { return strings.Contains(p, "register") }), "got %q", w.paths)
}

// TestWorkloadAskedTooOften: an answer that says nothing about the assertion.
func TestWorkloadAskedTooOften(t *testing.T) {
	w := newWorld(t)
	auth := w.transport(w.granted(&Workload{Issuers: []string{issuerOne}, Assertion: assertion("assertion-1")}))
	w.pages["as.test/token"] = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusTooManyRequests) }
	check.Text(t, call(t.Context(), auth), "HTTP status 429")
	w.set(func() { delete(w.pages, "as.test/token") })
	w.mustCall(auth)
}
