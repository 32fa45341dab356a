package oauth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

func TestSignInOnDemand(t *testing.T) {
	w := newWorld(t)
	w.supported = []string{"read"}
	auth := w.transport(w.options())
	w.mustCall(auth)
	w.mustCall(auth)
	check.Require(t, len(w.asked) == 1 && len(w.forms) == 1 && len(w.seen) == 3,
		"got %d sign-ins, %d token requests, %d requests, want 1, 1, 3", len(w.asked), len(w.forms), len(w.seen))
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "client-1-of-as.test", "code_challenge_method": "S256",
		"resource": serverURL, "scope": "read", "redirect_uri": "http://127.0.0.1:7777/callback",
	} {
		check.Equal(t, name, query(t, w.asked[0], name), want)
	}
	for name, want := range map[string]string{"grant_type": "authorization_code", "resource": serverURL, "client_id": "client-1-of-as.test"} {
		check.Equal(t, "token request", w.forms[0].Get(name), want)
	}
	if got := w.seen[2]; got.Header.Get("Authorization") != "Bearer access-secret-1" || strings.Contains(got.URL.RawQuery, "secret") {
		t.Errorf("got Authorization %q, query %q", got.Header.Get("Authorization"), got.URL.RawQuery)
	}
}

// inBubble runs a test with a world inside a bubble, so that no goroutine may be left.
func inBubble(t *testing.T, f func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) { f(t, newWorld(t)) })
}

func TestManyCallsShareOneSignIn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		proceed := make(chan struct{})
		auth := w.transportAfter(func(context.Context) error { <-proceed; return nil })
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() { check.NoError(t, call(t.Context(), auth)) })
		}
		synctest.Wait()
		close(proceed)
		calls.Wait()
		check.That(t, len(w.asked) == 1 && len(w.forms) == 1 && len(w.clients) == 1,
			"got %d sign-ins, %d token requests, %d registrations, want one each", len(w.asked), len(w.forms), len(w.clients))
	})
}

// The time of a person's sign-in does not count as the server's silence.
func TestSignInIsNoSilence(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		auth := w.transportAfter(func(context.Context) error { time.Sleep(time.Minute); return nil })
		ctx := bound.Within(t.Context(), bound.Limits{Idle: time.Second})
		defer ctx.Stop()
		check.NoError(t, call(ctx, auth))
	})
}

// A client that connects waits for the person as long as the sign-in takes, although it waits only briefly for its probe.
func TestConnectWaitsForSignIn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.pages["mcp.test/mcp"] = func(rw http.ResponseWriter, req *http.Request) {
			if req.Header.Get("Authorization") == "" {
				w.protected(rw, req)
				return
			}
			var m struct{ ID json.RawMessage }
			check.Must(t, json.NewDecoder(req.Body).Decode(&m))
			reply(rw, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{
				"resultType": "complete", "supportedVersions": []string{"2026-07-28"}, "capabilities": map[string]any{},
			}})
		}
		auth := w.transportAfter(func(context.Context) error { time.Sleep(2 * time.Minute); return nil })
		client := check.Value(mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: serverURL, Client: auth.Client()}, nil))(t)
		defer client.Close()
		got := client.Server().Revision
		check.That(t, got == "2026-07-28" && len(w.asked) == 1, "got revision %q after %d sign-ins, want 2026-07-28 after 1", got, len(w.asked))
	})
}

func TestFirstCallerGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		proceed := make(chan struct{})
		auth := w.transportAfter(func(ctx context.Context) error {
			select {
			case <-proceed:
			case <-ctx.Done():
			}
			return ctx.Err()
		})
		first, giveUp := context.WithCancel(t.Context())
		gone, second := make(chan error, 1), make(chan error, 1)
		go func() { gone <- call(first, auth) }()
		synctest.Wait()
		giveUp()
		check.Is(t, <-gone, context.Canceled)
		time.Sleep(linger / 2) // no caller waits, but not for long
		go func() { second <- call(t.Context(), auth) }()
		synctest.Wait()
		time.Sleep(2 * linger)
		close(proceed)
		err := <-second
		check.That(t, err == nil && len(w.asked) == 1, "got %v after %d sign-ins, want none after 1", err, len(w.asked))
	})
}

func TestAbandonedSignInEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ended := make(chan error, 1)
		auth := w.transportAfter(func(ctx context.Context) error {
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		check.Is(t, call(ctx, auth), context.DeadlineExceeded)
		check.Equal(t, "the call took", time.Since(start), 3*time.Second)
		<-ended
		check.Equal(t, "the sign-in ended after", time.Since(start), 3*time.Second+linger)
	})
}

func TestSignInTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		auth := w.transportAfter(func(ctx context.Context) error { <-ctx.Done(); return errors.New("the receiver's reason") })
		start := time.Now()
		check.Text(t, call(t.Context(), auth), "person did not sign in within 5m0s: the receiver's reason")
		check.Equal(t, "the call took", time.Since(start), 5*time.Minute)
	})
}

func TestCloseEndsWhatWaits(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		auth := w.transportAfter(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		got := make(chan error, 1)
		go func() { got <- call(t.Context(), auth) }()
		synctest.Wait()
		check.NoError(t, auth.Close())
		check.Is(t, <-got, errClosed)
		check.Is(t, call(t.Context(), auth), errClosed)
	})
}

// TestSignOutMeanwhile signs out while a sign-in waits for a person, who then signs in all the same.
func TestSignOutMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		for name, deaf := range map[string]bool{"cancelled": false, "too late to cancel": true} {
			allowed := make(chan struct{})
			auth := w.transportAfter(func(ctx context.Context) error {
				<-allowed
				if deaf {
					return nil
				}
				return ctx.Err()
			})
			got, out := make(chan error, 1), make(chan error, 1)
			go func() { got <- call(t.Context(), auth) }()
			synctest.Wait()
			go func() { out <- auth.SignOut(t.Context()) }()
			synctest.Wait()
			close(allowed)
			check.NoError(t, <-out, name)
			check.Text(t, <-got, "signed out of", name)
			kept, err := auth.storedLink(t.Context())
			check.That(t, auth.sessions.get() == nil && kept == nil && err == nil,
				"%s: got the session %v and %v, %v in the store after signing out, want none", name, auth.sessions.get(), kept, err)
			w.mustCall(auth)
		}
	})
}

// TestSignOutWhileTheStoreIsRead forgets a session that was read before the store was emptied.
func TestSignOutWhileTheStoreIsRead(t *testing.T) {
	var s sessions
	release := check.Value(s.clear(t.Context()))(t)
	s.load(new(session))
	release()
	got := s.get()
	check.That(t, got == nil, "got the session %v after signing out, want none", got)
}

// TestTokenStaysHome: other origins, and requests with an Authorization of their own, get no token.
func TestTokenStaysHome(t *testing.T) {
	w := newWorld(t)
	auth := w.transport(w.options())
	w.mustCall(auth)
	w.pages["other.test/"] = func(rw http.ResponseWriter, req *http.Request) {
		check.Equal(t, "Authorization at another origin", req.Header.Get("Authorization"), "")
		rw.Header().Set("WWW-Authenticate", "Bearer")
		rw.WriteHeader(http.StatusUnauthorized)
	}
	check.Text(t, callAs(t.Context(), auth, http.MethodPost, "https://other.test/"), "401")
	w.pages["mcp.test/mcp"] = func(rw http.ResponseWriter, req *http.Request) {
		http.Redirect(rw, req, "https://other.test/", http.StatusTemporaryRedirect)
	}
	// There was no sign-in, so the error must not say that one is untrusted.
	err := call(t.Context(), auth)
	const want = "redirect to another origin refused: use the URL https://other.test/ if you trust it"
	check.That(t, err != nil && !errors.Is(err, ErrUntrusted) && strings.Contains(err.Error(), want), "got %v, want %q", err, want)
	w.set(func() { delete(w.pages, "mcp.test/mcp") })
	req := check.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, serverURL, strings.NewReader("x")))(t)
	req.Header.Set("Authorization", "Bearer own")
	resp, err := auth.RoundTrip(req)
	check.Require(t, err == nil && resp.StatusCode == http.StatusUnauthorized, "got %v, %v, want the server's 401", resp, err)
	_ = resp.Body.Close()
	check.Equal(t, "Authorization", w.seen[len(w.seen)-1].Header.Get("Authorization"), "Bearer own")
}

// TestUnrepeatableRequests: the refusal is passed on if the body is gone, or the request ends a session.
func TestUnrepeatableRequests(t *testing.T) {
	w := newWorld(t)
	auth := w.transport(w.options())
	req := check.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, serverURL, io.NopCloser(strings.NewReader("x"))))(t)
	resp, err := auth.RoundTrip(req)
	check.Require(t, err == nil && resp.StatusCode == http.StatusUnauthorized, "got %v, %v, want the 401", resp, err)
	_ = resp.Body.Close()
	check.Text(t, callAs(t.Context(), auth, http.MethodDelete, serverURL), "401")
	check.Equal(t, "sign-ins", len(w.asked), 0)
}

// TestFreshTokenRefused: the call ends with advice.
func TestFreshTokenRefused(t *testing.T) {
	w := newWorld(t)
	w.resource = "https://mcp.test"
	w.pages["mcp.test/mcp"] = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		rw.WriteHeader(http.StatusUnauthorized)
	}
	check.Text(t, call(t.Context(), w.transport(w.options())), "has just issued")
	check.Equal(t, "sign-ins", len(w.asked), 1)
}

func TestSignInAndOut(t *testing.T) {
	w := newWorld(t)
	auth := w.transport(w.options())
	for range 2 {
		check.Must(t, auth.SignIn(t.Context()))
	}
	w.mustCall(auth)
	check.That(t, len(w.asked) == 1 && len(w.seen) == 2, "got %d sign-ins, %d requests, want 1, 2", len(w.asked), len(w.seen))
	check.Must(t, auth.SignOut(t.Context()))
	w.mustCall(auth)
	check.That(t, len(w.asked) == 2 && len(w.clients) == 2,
		"got %d sign-ins, %d registrations after signing out, want 2, 2", len(w.asked), len(w.clients))
}

// TestSignInWithoutGET: at a server without GET, the answer to a POST says whether a token is needed.
func TestSignInWithoutGET(t *testing.T) {
	for _, protected := range []bool{false, true} {
		w := newWorld(t)
		w.pages["mcp.test/mcp"] = func(rw http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPost && protected {
				w.protected(rw, req)
				return
			}
			rw.WriteHeader(http.StatusMethodNotAllowed)
		}
		check.NoError(t, w.transport(w.options()).SignIn(t.Context()))
		check.Equal(t, fmt.Sprint("signs in, protected ", protected), len(w.asked) == 1, protected)
	}
}

func TestNewReportsMistakes(t *testing.T) {
	code := &AuthorizationCode{Receiver: Paste(nil)}
	const document = "https://host.test/client.json"
	weak := check.Value(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))(t)
	for _, tt := range []struct {
		url  string
		opts *Options
		want string
	}{
		{serverURL, nil, "Options.Grant"},
		{"mcp.test", &Options{Grant: code}, "server URL"},
		{"http://mcp.test/mcp", &Options{Grant: code}, "unencrypted"},
		{serverURL, &Options{Grant: &AuthorizationCode{}}, "Receiver"},
		{serverURL, &Options{Grant: &AuthorizationCode{Receiver: Paste(nil), Clients: []Credentials{{ID: "x"}}}}, "Issuer"},
		{serverURL, &Options{Grant: &AuthorizationCode{Receiver: Paste(nil), Document: &Credentials{ID: "https://host"}}}, "with a path"},
		{serverURL, &Options{Grant: &AuthorizationCode{Receiver: Paste(nil), Document: &Credentials{ID: document, Issuer: issuerOne}}}, "AuthorizationCode.Document \"https://host.test/client.json\" has an Issuer"},
		{serverURL, &Options{Grant: &AuthorizationCode{Receiver: Paste(nil), Document: &Credentials{ID: document, Secret: "x", Key: weak}}}, "AuthorizationCode.Document: client"},
		{serverURL, &Options{Grant: &AuthorizationCode{Receiver: Paste(nil), Document: &Credentials{ID: document, Key: weak}}}, "AuthorizationCode.Document: key of type"},
		{serverURL, &Options{Grant: &AuthorizationCode{Receiver: Paste(nil), Client: &Credentials{Secret: "x"}}}, "AuthorizationCode.Client: Credentials.ID"},
		{serverURL, &Options{Grant: &AuthorizationCode{Receiver: Paste(nil), Client: &Credentials{Issuer: issuerOne, ID: "x"}}}, "put it into Clients"},
		{serverURL, &Options{Grant: code, Scopes: []string{"ok", "read write"}}, `Options.Scopes: "read write" is not a scope`},
		{serverURL, &Options{Grant: code, Scopes: make([]string, 1)}, `Options.Scopes: "" is not a scope`},
		{serverURL, &Options{Grant: code, Scopes: strings.Fields(strings.Repeat("s ", 65))}, "Options.Scopes has 65 scopes, want at most 64"},
		{serverURL, &Options{Grant: clientWith(Credentials{Secret: "x", Method: "client_secret_jwt"})}, `client "c": authentication method "client_secret_jwt" is not supported`},
		{serverURL, &Options{Grant: clientWith(Credentials{Method: "client_secret_post"})}, `client "c": authentication method "client_secret_post" needs a secret`},
		{serverURL, &Options{Grant: clientWith(Credentials{Secret: "x", Method: "private_key_jwt"})}, `client "c": authentication method "private_key_jwt" needs a key`},
		{serverURL, &Options{Grant: ClientCredentials{}}, "ClientCredentials is empty"},
		{serverURL, &Options{Grant: ClientCredentials{{Issuer: issuerOne, ID: "x", Secret: "s"}}, RequireDPoP: true}, "needs the key"},
		{serverURL, &Options{Grant: ClientCredentials{{Issuer: issuerOne, ID: "x"}}}, "neither"},
		{serverURL, &Options{Grant: &Enterprise{}}, "TokenEndpoint"},
		{serverURL, &Options{Grant: &Workload{}}, "Workload"},
	} {
		check.Text(t, check.Err(New(tt.url, tt.opts)), tt.want, tt.url)
	}
}

func clientWith(c Credentials) Grant {
	c.Issuer, c.ID = issuerOne, "c"
	return &AuthorizationCode{Receiver: Paste(nil), Clients: []Credentials{c}}
}

// TestHostEndsItsGoroutine: a runtime.Goexit of the host's code fails the request.
func TestHostEndsItsGoroutine(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		check.Text(t, call(ctx, w.transportAfter(func(context.Context) error { runtime.Goexit(); return nil })), "runtime.Goexit")
	})
}

// TestHostPanics: a panic of the host's code fails the request, and is logged with its stack.
func TestHostPanics(t *testing.T) {
	w := newWorld(t)
	var logged bytes.Buffer
	opts := w.options()
	opts.Grant = &AuthorizationCode{Receiver: &person{w: w, before: func(context.Context) error { panic("boom") }}}
	opts.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	auth := w.transport(opts)
	check.Text(t, call(t.Context(), auth), "Options.Grant or Options.Store panicked: boom")
	check.NoError(t, auth.Close())
	check.Contains(t, "log", logged.String(), "world_test.go")
}

// A refusal with an endless body delays the sign-in by at most a second.
func TestRefusalWithoutEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.pages["mcp.test/mcp"] = func(rw http.ResponseWriter, req *http.Request) {
			if req.Header.Get("Authorization") != "" {
				w.protected(rw, req)
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			rw.Header().Set("WWW-Authenticate", w.scheme)
			rw.WriteHeader(http.StatusUnauthorized)
			rw.(http.Flusher).Flush()
			<-req.Context().Done()
		}
		start := time.Now()
		w.mustCall(w.transport(w.options()))
		got := time.Since(start)
		check.That(t, got <= discardTime, "got the answer after %v, want at most %v", got, discardTime)
	})
}

// A server may redirect to its own path with or without a slash before it asks for a token.
func TestSignInAtRedirect(t *testing.T) {
	w := newWorld(t)
	w.pages["mcp.test/mcp/"] = func(rw http.ResponseWriter, req *http.Request) {
		http.Redirect(rw, req, serverURL, http.StatusTemporaryRedirect)
	}
	auth := check.Value(New(serverURL+"/", w.options()))(t)
	defer auth.Close()
	check.NoError(t, auth.SignIn(t.Context()))
	check.Equal(t, "sign-ins", len(w.asked), 1)
	w.pages["mcp.test/mcp/"] = func(rw http.ResponseWriter, req *http.Request) {
		http.Redirect(rw, req, "https://other.test/?key=s3cret", http.StatusTemporaryRedirect)
	}
	_, err := Discover(t.Context(), serverURL+"/?token=s3cret", w.options())
	check.That(t, err != nil && strings.Contains(err.Error(), "another origin") && !strings.Contains(err.Error(), "s3cret"), "got %v", err)
}
