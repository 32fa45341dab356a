package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpchain/mcpchain/internal/check"
)

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	return check.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
}

func TestTokenEndpointAuthentication(t *testing.T) {
	const id, secret = "the client:1", "s%crét+&"
	for _, tt := range []struct {
		name      string
		c         Credentials
		supported []string
		want      string
	}{
		{"public", Credentials{ID: id}, []string{"client_secret_basic"}, methodNone},
		{"basic first", Credentials{ID: id, Secret: secret}, []string{"client_secret_post", "client_secret_basic"}, methodBasic},
		{"basic by default", Credentials{ID: id, Secret: secret}, nil, methodBasic},
		{"post", Credentials{ID: id, Secret: secret}, []string{"client_secret_post"}, methodPost},
		{"none with a secret", Credentials{ID: id, Secret: secret}, []string{"none"}, methodNone},
		{"as told", Credentials{ID: id, Secret: secret, Method: methodPost}, []string{"client_secret_basic"}, methodPost},
		{"key", Credentials{ID: id, Key: newKey(t)}, []string{"private_key_jwt"}, methodPrivateKeyJWT},
	} {
		t.Run(tt.name, func(t *testing.T) {
			form, header := url.Values{}, http.Header{}
			m := &issuerMetadata{Issuer: issuerOne, TokenEndpointAuthMethodsSupported: tt.supported}
			check.Must(t, tt.c.authenticate(form, header, m))
			got := methodNone
			switch {
			case header.Get("Authorization") != "":
				got = methodBasic
				want := "Basic " + base64.StdEncoding.EncodeToString([]byte("the+client%3A1:s%25cr%C3%A9t%2B%26"))
				check.That(t, header.Get("Authorization") == want && !form.Has("client_secret") && !form.Has("client_id"),
					"got %v, %v, want %q", header, form, want)
			case form.Get("client_secret") == secret:
				got = methodPost
			case form.Has("client_assertion"):
				got = methodPrivateKeyJWT
			}
			check.That(t, got == tt.want && (got == methodBasic || form.Get("client_id") == id),
				"got %s with %v, want %s", got, form, tt.want)
		})
	}
	c := Credentials{ID: id, Secret: secret}
	check.Text(t, c.authenticate(url.Values{}, http.Header{}, &issuerMetadata{TokenEndpointAuthMethodsSupported: []string{"private_key_jwt"}}), "private_key_jwt")
}

func TestAssertion(t *testing.T) {
	rsaKey := check.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	check.Must(t, err)
	tests := []struct {
		key                crypto.Signer
		supported          []string
		audience, alg, aud string
	}{
		{newKey(t), nil, "", "ES256", issuerOne},
		{newKey(t), []string{"RS256", "ES256"}, issuerOne + "/token", "ES256", issuerOne + "/token"},
		{rsaKey, nil, "", "RS256", issuerOne},
		{rsaKey, []string{"PS256"}, "", "PS256", issuerOne},
		{edKey, []string{"EdDSA"}, "", "EdDSA", issuerOne},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		c := &Credentials{Issuer: issuerOne, ID: "svc", Key: tt.key, KeyID: "k1", Audience: tt.audience}
		signed := check.Value(c.assertion(&issuerMetadata{Issuer: issuerOne, TokenEndpointAuthSigningAlgs: tt.supported}))(t)
		claims := new(jwt.RegisteredClaims)
		token, err := jwt.ParseWithClaims(signed, claims, func(*jwt.Token) (any, error) { return tt.key.Public(), nil },
			jwt.WithValidMethods([]string{tt.alg}), jwt.WithAudience(tt.aud), jwt.WithIssuer("svc"), jwt.WithSubject("svc"), jwt.WithExpirationRequired())
		if err != nil {
			t.Errorf("%s: %v", tt.alg, err)
			continue
		}
		if life := claims.ExpiresAt.Sub(claims.IssuedAt.Time); token.Header["kid"] != "k1" || claims.ID == "" || seen[claims.ID] || life > 5*time.Minute {
			t.Errorf("%s: got header %v, claims %+v", tt.alg, token.Header, claims)
		}
		seen[claims.ID] = true
	}
	c := &Credentials{Issuer: issuerOne, ID: "svc", Key: newKey(t)}
	check.Fails(t, check.Err(c.assertion(&issuerMetadata{TokenEndpointAuthSigningAlgs: []string{"RS256"}})), "an algorithm that the server does not take")
}

func TestClientCredentials(t *testing.T) {
	for _, c := range []Credentials{{Issuer: issuerOne, ID: "svc", Secret: "the-secret-of-svc"}, {Issuer: issuerOne, ID: "svc", Key: newKey(t)}} {
		inBubble(t, func(t *testing.T, w *world) {
			w.challenge, w.noRefresh = `scope="jobs"`, true
			auth := w.transport(w.granted(ClientCredentials{c}))
			w.mustCall(auth)
			time.Sleep(2 * time.Hour)
			w.mustCall(auth)
			check.Same(t, "", w.grants(), []string{"client_credentials", "client_credentials"})
			form := w.forms[0]
			check.That(t, form.Get("resource") == serverURL && form.Get("scope") == "jobs" && len(w.asked) == 0 && len(w.clients) == 0,
				"got form %v, %d sign-ins, %d registrations", form, len(w.asked), len(w.clients))
			if basic := w.heads[0].Get("Authorization") != ""; basic != (c.Secret != "") || (form.Get("client_assertion") != "") != (c.Key != nil) {
				t.Errorf("got header %v, form %v", w.heads[0], form)
			}
		})
	}
}

// TestServiceSecretsGoNowhereElse: if a server names another authorization server, it gets nothing.
func TestServiceSecretsGoNowhereElse(t *testing.T) {
	c := Credentials{Issuer: issuerTwo, ID: "svc", Secret: "the-secret-of-svc"}
	for name, grant := range map[string]Grant{
		"client credentials": ClientCredentials{c},
		"enterprise":         enterprise(t, []Credentials{c}),
		"workload":           &Workload{Issuers: []string{issuerTwo}, Assertion: assertion("the-assertion")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			wantUntrusted(t, call(t.Context(), w.transport(w.granted(grant))), issuerTwo)
			check.That(t, len(w.forms) == 0, "got %v", w.forms)
		})
	}
}

func TestServiceRefused(t *testing.T) {
	w := newWorld(t)
	w.pages["as.test/token"] = func(rw http.ResponseWriter, _ *http.Request) {
		reply(rw, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
	}
	err := call(t.Context(), w.transport(w.granted(ClientCredentials{{Issuer: issuerOne, ID: "svc", Secret: "the-secret-of-svc"}})))
	refused, ok := errors.AsType[*ServerError](err)
	check.That(t, ok && refused.status == http.StatusUnauthorized && strings.Contains(err.Error(), "check the client id"),
		"got %v, want what to do", err)
}

// TestTokensThatCannotBeUsed: unusable tokens are refused when they arrive.
func TestTokensThatCannotBeUsed(t *testing.T) {
	for _, tt := range []struct {
		answer map[string]any
		want   string
	}{
		{map[string]any{"token_type": "Bearer"}, "no token that can be sent"},
		{map[string]any{"access_token": "a b", "token_type": "Bearer"}, "no token that can be sent"},
		{map[string]any{"access_token": "a\r\nX-Evil: 1", "token_type": "Bearer"}, "no token that can be sent"},
		{map[string]any{"access_token": strings.Repeat("x", maxToken+1), "token_type": "Bearer"}, "no token that can be sent"},
		{map[string]any{"access_token": "x", "refresh_token": strings.Repeat("x", maxToken+1), "token_type": "Bearer"}, "no token that can be sent"},
		{map[string]any{"access_token": "x", "token_type": "mac"}, `type "mac"`},
		{map[string]any{"access_token": "x"}, `type ""`},
		{map[string]any{"access_token": "x", "token_type": "DPoP"}, "set Options.DPoP"},
		{map[string]any{"access_token": "x", "token_type": "Bearer", "expires_in": "soon"}, "expires_in"},
	} {
		w := newWorld(t)
		w.pages["as.test/token"] = document(tt.answer)
		check.Text(t, call(t.Context(), w.transport(w.options())), tt.want)
		check.Equal(t, fmt.Sprintf("requests, %.60v", tt.answer), len(w.seen), 1)
	}
}

// TestQuotedListsAreCut shows only the beginning of a server's lists in errors.
func TestQuotedListsAreCut(t *testing.T) {
	long := slices.Repeat([]string{"https://as.test/long"}, 1000)
	m := &issuerMetadata{Issuer: issuerOne, TokenEndpointAuthMethodsSupported: long, TokenEndpointAuthSigningAlgs: long}
	_, noMethod := (&Credentials{ID: "c", Secret: "s"}).method(m)
	_, noAlgorithm := (&Credentials{ID: "c", Key: newKey(t)}).assertion(m)
	_, noIssuer := chooseRegistered([]Credentials{{Issuer: issuerOne, ID: "c"}}, long, "")
	for _, err := range []error{noMethod, noAlgorithm, noIssuer} {
		check.Text(t, err, "https://as.test/long")
		check.That(t, err == nil || len(err.Error()) <= 1<<10, "got an error of %d bytes, want at most 1 KiB", len(err.Error()))
	}
}

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
			check.That(t, form.Get("grant_type") == grantJWTBearer && form.Get("assertion") == fmt.Sprintf("id-jag-%d", i+1) && form.Get("resource") == serverURL,
				"got token request %v, want a new assertion in each", form)
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
