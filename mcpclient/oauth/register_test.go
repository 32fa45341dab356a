package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestRegistrationRequest(t *testing.T) {
	for _, tt := range []struct{ redirectURI, want string }{
		{"http://127.0.0.1:7777/callback", "native"}, {"com.example.app:/callback", "native"},
		{"https://localhost/callback", "native"}, {"https://host.test/callback", "web"},
	} {
		w := newWorld(t)
		w.mustCall(w.transport(w.granted(&AuthorizationCode{Receiver: &person{w: w, uri: tt.redirectURI}, RegisterAs: "Test"})))
		var got clientMetadata
		check.Must(t, json.Unmarshal([]byte(w.clients["client-1-of-as.test"].Get("metadata")), &got))
		if got.ApplicationType != tt.want || got.ClientName != "Test" || !slices.Equal(got.RedirectURIs, []string{tt.redirectURI}) ||
			!slices.Equal(got.GrantTypes, []string{"authorization_code", "refresh_token"}) || got.TokenEndpointAuthMethod != "none" {
			t.Errorf("%s: got %+v, want application type %s", tt.redirectURI, got, tt.want)
		}
	}
}

// One registration of an issuer serves all its servers. A different redirect URI needs a new registration.
func TestRegistrationIsKept(t *testing.T) {
	w := newWorld(t)
	opts := w.options()
	auth := w.transport(opts)
	w.mustCall(auth)
	check.Must(t, save(t.Context(), opts.Store, auth.tokenKey(serverURL, issuerOne), nil))
	w.mustCall(w.transport(opts))
	check.That(t, len(w.clients) == 1 && len(w.asked) == 2, "got %d registrations, %d sign-ins, want 1, 2", len(w.clients), len(w.asked))
	moved := *opts
	moved.Grant = &AuthorizationCode{Receiver: &person{w: w, uri: "http://127.0.0.1:9999/callback"}}
	check.Must(t, save(t.Context(), opts.Store, auth.tokenKey(serverURL, issuerOne), nil))
	w.mustCall(w.transport(&moved))
	check.Equal(t, "registrations of two redirect URIs", len(w.clients), 2)
}

func TestRegistrationExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, n := newWorld(t), 0
		w.pages["as.test/register"] = func(rw http.ResponseWriter, _ *http.Request) {
			n++
			reply(rw, http.StatusCreated, map[string]any{"client_id": "x", "client_secret": "y", "client_secret_expires_at": time.Now().Add(time.Hour).Unix()})
		}
		w.noRefresh = true
		auth := w.transport(w.options())
		w.mustCall(auth)
		time.Sleep(2 * time.Hour)
		w.mustCall(auth)
		check.Equal(t, "registrations", n, 2)
	})
}

func TestRegistrationRefused(t *testing.T) {
	w := newWorld(t)
	w.pages["as.test/register"] = func(rw http.ResponseWriter, _ *http.Request) {
		reply(rw, http.StatusBadRequest, map[string]string{"error": "invalid_redirect_uri", "error_description": "no loopback here"})
	}
	err := call(t.Context(), w.transport(w.options()))
	refused, ok := errors.AsType[*ServerError](err)
	check.That(t, ok && refused.Code == "invalid_redirect_uri" && strings.Contains(err.Error(), "no loopback here") && strings.Contains(err.Error(), "register the redirect URI"), "got %v, want the refusal and what to do", err)
}

// TestRegistrationUnusable reads what is wrong with the answer, without the secret in it.
func TestRegistrationUnusable(t *testing.T) {
	long := strings.Repeat("x", maxToken+1)
	for want, answer := range map[string]any{
		"answer is not a JSON object of the expected form":                                                   []string{"secret"},
		"answer has no client_id":                                                                            map[string]any{"client_secret": "secret"},
		"client_id has 65537 bytes and the client_secret 6, want at most 65536":                              map[string]any{"client_id": long, "client_secret": "secret"},
		"client_id has 1 bytes and the client_secret 65537, want at most 65536":                              map[string]any{"client_id": "x", "client_secret": long},
		`registration is unusable: client "x": authentication method "private_key_jwt" needs a key: `:        registered("private_key_jwt", "secret"),
		`registration is unusable: client "x": authentication method "client_secret_jwt" is not supported: `: registered("client_secret_jwt", "secret"),
		`registration is unusable: client "x": authentication method "xxx`:                                   registered(long, "secret"),
		`registration is unusable: client "x": authentication method "client_secret_basic" needs a secret: `: registered("client_secret_basic", ""),
		`registration is unusable: client "x": authentication method "client_secret_post" needs a secret: `:  registered("client_secret_post", ""),
	} {
		w := newWorld(t)
		w.pages["as.test/register"] = func(rw http.ResponseWriter, _ *http.Request) { reply(rw, http.StatusCreated, answer) }
		err := call(t.Context(), w.transport(w.options()))
		check.Text(t, err, "register the client: POST https://as.test/register: "+want)
		check.That(t, len(w.asked) == 0, "%s: the person was asked to sign in", want)
		check.That(t, err == nil || len(err.Error()) <= 600 && !strings.Contains(err.Error(), `"secret"`),
			"got %.500q, want a short error without the secret", err)
	}
}

// registered returns an answer to a registration, with the client's method of authentication.
func registered(method, secret string) map[string]any {
	return map[string]any{"client_id": "x", "client_secret": secret, "token_endpoint_auth_method": method}
}

// TestStoredMethodUnusable: a stored registration with a method that the client cannot use counts as none.
func TestStoredMethodUnusable(t *testing.T) {
	w := newWorld(t)
	opts := w.options()
	auth := w.transport(opts)
	check.Must(t, save(t.Context(), opts.Store, auth.registrar.key(issuerOne), &registration{ID: "x", Method: methodPrivateKeyJWT, RedirectURI: redirectURI}))
	w.mustCall(auth)
	check.Equal(t, "registrations", len(w.clients), 1)
}

// TestRegistrationIsNotStored: the error says what could not be stored.
func TestRegistrationIsNotStored(t *testing.T) {
	w := newWorld(t)
	opts := w.options()
	opts.Store = &stuckStore{NewMemoryStore(), func(key Key, _ []byte) bool { return key.Resource == "" }}
	check.Text(t, call(t.Context(), w.transport(opts)), "client of this program at https://as.test: disk full")
}

// Each server uses its own client, and a client of the configuration is not stored: a later one replaces it.
func TestClientsOfOneIssuer(t *testing.T) {
	w := newWorld(t)
	opts := w.options()
	for i, grant := range []AuthorizationCode{{}, {Client: &Credentials{ID: "one", Secret: "s"}}, {Client: &Credentials{ID: "two"}}, {RegisterAs: "Test"}} {
		grant.Receiver = &person{w: w}
		opts.Grant = &grant
		w.mustCall(w.transport(opts))
		check.Equal(t, "client_id", query(t, w.asked[i], "client_id"), []string{"client-1-of-as.test", "one", "two", "client-1-of-as.test"}[i])
		w.revoke()
	}
}

// A stored token is not used once the configuration names another client, and no scopes are requested because that one had them.
func TestTokenOfAnotherClient(t *testing.T) {
	w := newWorld(t)
	opts := w.options()
	for i, grant := range []AuthorizationCode{
		{}, {Client: &Credentials{ID: "one"}}, {Clients: []Credentials{{Issuer: issuerOne, ID: "two"}}}, {Clients: []Credentials{{Issuer: issuerOne, ID: "two", Secret: "s"}}},
	} {
		grant.Receiver = &person{w: w}
		opts.Grant, opts.Scopes = &grant, []string{fmt.Sprint("scope-", i)}
		w.mustCall(w.transport(opts))
	}
	var got []string
	for _, asked := range w.asked {
		got = append(got, query(t, asked, "client_id")+" "+query(t, asked, "scope"))
	}
	check.Same(t, "sign-ins", got, []string{"client-1-of-as.test scope-0", "one scope-1", "two scope-2"})
	robot := w.granted(ClientCredentials{{Issuer: issuerOne, ID: "robot", Secret: "s"}})
	robot.Store = opts.Store
	w.mustCall(w.transport(robot))
	grants := w.grants()
	check.That(t, len(grants) == 4 && grants[3] == "client_credentials", "got %q, want a token of the service's own", grants)
}

func TestNobodyRegisters(t *testing.T) {
	w := newWorld(t)
	w.meta["registration_endpoint"] = nil
	err := call(t.Context(), w.transport(w.options()))
	check.Text(t, err, `AuthorizationCode.Clients, or with clientId and callbackPort into "oauth" of an mcp.json`)
	check.Text(t, err, "127.0.0.1:7777")
}

// The server has forgotten the registration when the token is refreshed. The person signs in with another one.
func TestForgottenClient(t *testing.T) {
	w := newWorld(t)
	auth := w.transport(w.options())
	w.mustCall(auth)
	w.revoke()
	w.pages["as.test/token"] = func(rw http.ResponseWriter, req *http.Request) {
		if req.PostFormValue("grant_type") == "refresh_token" {
			reply(rw, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
			return
		}
		w.authorization(rw, req)
	}
	w.mustCall(auth)
	check.That(t, len(w.clients) == 2 && len(w.asked) == 2, "got %d registrations, %d sign-ins, want 2, 2", len(w.clients), len(w.asked))
}

// TestRefusedPage: the page of a sign-in refuses the client, and the person gives up. The next attempt asks the token endpoint,
// and registers again unless that knows the client.
func TestRefusedPage(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   any // of the token endpoint
		want   string
	}{
		{http.StatusUnauthorized, map[string]string{"error": "invalid_client"}, "client-2-of-as.test"},
		{http.StatusBadRequest, map[string]string{"error": "unauthorized_client"}, "client-2-of-as.test"},
		{http.StatusUnprocessableEntity, map[string]string{"message": "Unrecognized client_id"}, "client-2-of-as.test"},
		{http.StatusBadRequest, map[string]string{"error": "invalid_grant"}, "client-1-of-as.test"},
		{http.StatusServiceUnavailable, "later", "client-1-of-as.test"},
	} {
		w := newWorld(t)
		w.noRefresh = true
		auth := w.transport(w.options())
		w.pages["as.test/authorize"] = http.NotFound
		check.Fails(t, call(t.Context(), auth), "no answer")
		asked := 0
		w.set(func() {
			delete(w.pages, "as.test/authorize")
			w.pages["as.test/token"] = func(rw http.ResponseWriter, req *http.Request) {
				if w.codes[req.PostFormValue("code")] != nil {
					w.authorization(rw, req)
					return
				}
				if asked++; req.PostFormValue("client_id") != "client-1-of-as.test" || req.PostFormValue("code_verifier") == "" {
					t.Errorf("got %v, want a token request of the first client", req.PostForm)
				}
				reply(rw, tt.status, tt.body)
			}
		})
		for range 2 {
			w.mustCall(auth)
			w.revoke()
		}
		for _, url := range w.asked[1:] {
			check.Equal(t, fmt.Sprint(tt.body), query(t, url, "client_id"), tt.want)
		}
		check.That(t, len(w.asked) == 3 && asked == 1,
			"%v: got %d sign-ins, and the token endpoint was asked %d times, want 3, 1", tt.body, len(w.asked), asked)
	}
}

// overtakenStore is a store in which another process replaces a registration after it was read.
type overtakenStore struct{ Store }

func (s overtakenStore) Load(ctx context.Context, key Key) ([]byte, error) {
	data, err := s.Store.Load(ctx, key)
	if key.Resource == "" && len(data) > 0 && err == nil {
		err = save(ctx, s.Store, key, &registration{ID: "other"})
	}
	return data, err
}

// TestRegistrationOfAnotherProcess: what a sign-in shows about a client changes no other registration.
func TestRegistrationOfAnotherProcess(t *testing.T) {
	for name, p := range map[string]*person{
		"no answer": {before: func(context.Context) error { return errors.New("the page says that the client is unknown") }},
		"refusal": {answer: func(_ string, answer url.Values) url.Values {
			answer.Del("code")
			answer.Set("error", "unauthorized_client")
			return answer
		}},
	} {
		w, store := newWorld(t), NewMemoryStore()
		p.w = w
		opts := w.options()
		opts.Grant, opts.Store = &AuthorizationCode{Receiver: p}, overtakenStore{store}
		auth := w.transport(opts)
		check.Fails(t, call(t.Context(), auth), name)
		data := check.Value(store.Load(t.Context(), auth.registrar.key(issuerOne)))(t)
		check.Equal(t, name, string(data), `{"client_id":"other","redirect_uri":""}`)
	}
}

// TestSignOutWithoutAToken forgets a registration with which nobody has signed in.
func TestSignOutWithoutAToken(t *testing.T) {
	w := newWorld(t)
	auth := w.transport(w.options())
	w.pages["as.test/authorize"] = http.NotFound
	check.Fails(t, call(t.Context(), auth), "no answer")
	check.Must(t, auth.SignOut(t.Context()))
	w.set(func() { delete(w.pages, "as.test/authorize") })
	w.mustCall(auth)
	check.Equal(t, "client_id", query(t, w.asked[1], "client_id"), "client-2-of-as.test")
	check.Equal(t, "token requests", len(w.forms), 1)
}

// stuckStore is a store that cannot make some changes.
type stuckStore struct {
	Store
	refuses func(key Key, value []byte) bool
}

func (s *stuckStore) Update(ctx context.Context, key Key, change func(context.Context, []byte) ([]byte, error)) error {
	return s.Store.Update(ctx, key, func(ctx context.Context, old []byte) ([]byte, error) {
		value, err := change(ctx, old)
		if err == nil && !bytes.Equal(old, value) && s.refuses(key, value) {
			err = errors.New("disk full")
		}
		return value, err
	})
}

// TestSignOutAgain: what a SignOut could not delete, the next one deletes.
func TestSignOutAgain(t *testing.T) {
	w := newWorld(t)
	stuck := true
	store := &stuckStore{NewMemoryStore(), func(key Key, value []byte) bool {
		return stuck && value == nil && key.Issuer != "" && key.Resource != ""
	}}
	opts := w.options()
	opts.Store = store
	auth := w.transport(opts)
	w.mustCall(auth)
	check.Text(t, auth.SignOut(t.Context()), "disk full")
	stuck = false
	check.NoError(t, auth.SignOut(t.Context()))
	w.mustCall(auth)
	check.Equal(t, "sign-ins", len(w.asked), 2)
}

// TestSignInOnAnotherPage: a receiver that only refers to a page casts no doubt on the registration.
func TestSignInOnAnotherPage(t *testing.T) {
	w := newWorld(t)
	elsewhere := &person{w: w, before: func(context.Context) error { return &mcp.SignInError{URL: "https://host.test"} }}
	worker := w.granted(&AuthorizationCode{Receiver: elsewhere})
	for range 2 {
		check.Fails(t, call(t.Context(), w.transport(worker)), "no person")
	}
	page := w.options()
	page.Store = worker.Store
	w.mustCall(w.transport(page))
	check.That(t, len(w.clients) == 1 && len(w.forms) == 1, "got %d registrations and %d token requests, want one of each", len(w.clients), len(w.forms))
}

// The server has forgotten the registration, and says so in the redirect or at the token endpoint. The next one makes another.
func TestUnknownClient(t *testing.T) {
	for _, code := range []string{"invalid_client", "unauthorized_client"} {
		for _, inRedirect := range []bool{true, false} {
			w := newWorld(t)
			opts, refusing := w.options(), true
			opts.Grant = &AuthorizationCode{Receiver: &person{w: w, answer: func(_ string, answer url.Values) url.Values {
				if refusing && inRedirect {
					answer.Del("code")
					answer.Set("error", code)
				}
				return answer
			}}}
			auth := w.transport(opts)
			w.pages["as.test/token"] = func(rw http.ResponseWriter, _ *http.Request) {
				reply(rw, http.StatusUnauthorized, map[string]string{"error": code})
			}
			refused, ok := errors.AsType[*ServerError](call(t.Context(), auth))
			check.That(t, ok && refused.Code == code, "got %v, want %s", refused, code)
			w.set(func() { delete(w.pages, "as.test/token") })
			refusing = false
			w.mustCall(auth)
			check.Equal(t, "registrations", len(w.clients), 2)
		}
	}
}
