package oauth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestCheckURL(t *testing.T) {
	public, local := &guard{}, &guard{loopback: true}
	inner := &guard{allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for _, tt := range []struct {
		guard *guard
		ok    bool
		urls  []string
	}{
		{public, true, []string{"https://as.example.com/token?x=1", "https://93.184.216.34/", "https://[2606:2800:220:1::1]/", "https://[::ffff:93.184.216.34]/"}},
		{public, false, []string{
			"http://as.example.com/", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "https:opaque", "https:///nohost",
			"https://user:pass@as.example.com/", "https://as.example.com/#fragment", "https://as.example.com/" + strings.Repeat("x", 9<<10),
			"https://localhost/", "https://LOCALHOST./", "https://a.localhost/", "http://127.0.0.1/", "https://127.0.0.1/", "https://127.8.9.10/",
			"https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:100.100.100.200]/", "https://[::ffff:0.0.0.1]/",
			"https://[::127.0.0.1]/", "https://[::a00:1]/", "https://[::ffff:0:7f00:1]/", "https://168.63.129.16/", "https://[::ffff:168.63.129.16]/",
			"https://10.0.0.1/", "https://192.168.1.1/", "https://172.16.0.1/", "https://169.254.169.254/latest/meta-data", "https://100.100.100.200/",
			"https://0.0.0.0/", "https://[fd00::1]/", "https://[fe80::1]/", "https://[64:ff9b::a00:1]/", "https://[2002:a00:1::]/", "https://224.0.0.1/",
			"https://255.255.255.255/",
		}},
		{local, true, []string{"http://localhost:8080/", "http://127.0.0.1:8080/", "http://[::1]/", "https://as.example.com/"}},
		{local, false, []string{"http://as.example.com/", "https://10.0.0.1/"}},
		{inner, true, []string{"https://10.1.2.3/", "https://[::ffff:10.1.2.3]/"}},
		{inner, false, []string{"https://10.2.2.3/", "https://[::a01:203]/"}},
	} {
		for _, url := range tt.urls {
			_, err := tt.guard.checkURL("test", url)
			check.That(t, (err == nil) == tt.ok && (err == nil || errors.Is(err, ErrUntrusted)), "%.60s: got %v, want allowed %v", url, err, tt.ok)
		}
	}
}

// TestNamesAreCheckedToo: the address of the connection counts.
func TestNamesAreCheckedToo(t *testing.T) {
	reached := false
	peer := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer peer.Close()
	g := &guard{}
	f := &fetcher{base: g.transport(), guard: &guard{loopback: true}} // the name passes
	_, err := f.get(t.Context(), "document", strings.Replace(peer.URL, "127.0.0.1", "localhost", 1), nil)
	check.That(t, errors.Is(err, ErrUntrusted) && !reached, "got %v, reached %v, want ErrUntrusted before the connection", err, reached)
	f.base = (&guard{loopback: true}).transport()
	_, err = f.get(t.Context(), "document", peer.URL, nil)
	check.That(t, err == nil && reached, "got %v, reached %v, want a server on loopback to be reached where it is allowed", err, reached)
}

func TestRedirects(t *testing.T) {
	for _, tt := range []struct {
		name, target string
		want         string // part of the error; empty for success
	}{
		{"elsewhere", "https://as2.test/moved", ""},
		{"private address", "https://169.254.169.254/latest", "169.254.169.254"},
		{"loopback", "https://127.0.0.1/admin", "127.0.0.1"},
		{"plain http", "http://as2.test/moved", "want an https URL"},
		{"in a circle", "https://as.test/.well-known/oauth-authorization-server", "more than 3 redirects"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.pages["as.test/.well-known/oauth-authorization-server"] = func(rw http.ResponseWriter, req *http.Request) {
				http.Redirect(rw, req, tt.target, http.StatusFound)
			}
			w.pages["as2.test/moved"] = document(map[string]any{
				"issuer": issuerOne, "authorization_endpoint": issuerOne + "/authorize", "token_endpoint": issuerOne + "/token",
				"registration_endpoint": issuerOne + "/register", "code_challenge_methods_supported": []string{"S256"},
			})
			w.pages["as.test/.well-known/openid-configuration"] = http.NotFound
			err := call(t.Context(), w.transport(w.options()))
			check.That(t, (tt.want != "" || err == nil) && (tt.want == "" || err != nil && strings.Contains(err.Error(), tt.want)),
				"got %v, want %q", err, tt.want)
		})
	}
}

// TestSecretsFollowNoRedirect: a redirected token request would pass its secrets to another server.
func TestSecretsFollowNoRedirect(t *testing.T) {
	w := newWorld(t)
	w.pages["as.test/token"] = func(rw http.ResponseWriter, req *http.Request) {
		http.Redirect(rw, req, "https://evil.test/token", http.StatusTemporaryRedirect)
	}
	w.pages["evil.test/token"] = func(http.ResponseWriter, *http.Request) { t.Error("the request was redirected") }
	wantUntrusted(t, call(t.Context(), w.transport(w.options())), "redirects a request that carries secrets")
}

func TestDocumentsAreBounded(t *testing.T) {
	for _, page := range []string{"mcp.test/.well-known/oauth-protected-resource/mcp", "as.test/.well-known/oauth-authorization-server", "as.test/register", "as.test/token"} {
		w, sent := newWorld(t), 0
		w.pages[page] = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			chunk := []byte(`{"issuer":"` + strings.Repeat("x", 64<<10))
			for n, err := 0, error(nil); err == nil && sent < 1<<30; sent += n {
				n, err = rw.Write(chunk)
			}
		}
		wantUntrusted(t, call(t.Context(), w.transport(w.options())), "over 262144 bytes")
		w.http.Close()
		check.That(t, sent <= 4*maxDocument, "%s: %d bytes were read", page, sent)
	}
}

// TestSilentServers: each page in turn never answers, and the call ends in time.
func TestSilentServers(t *testing.T) {
	for _, page := range []string{"mcp.test/.well-known/oauth-protected-resource/mcp", "as.test/.well-known/oauth-authorization-server", "as.test/register", "as.test/token"} {
		inBubble(t, func(t *testing.T, w *world) {
			w.pages[page] = silence
			start := time.Now()
			check.Text(t, call(t.Context(), w.transport(w.options())), "no answer within 30s", page)
			got := time.Since(start)
			check.That(t, got <= time.Minute+30*time.Second, "%s: it took %v", page, got)
		})
	}
}

// TestSlowBody: the bound holds for the whole answer.
func TestSlowBody(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.pages["as.test/token"] = func(rw http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			for req.Context().Err() == nil {
				_, _ = rw.Write([]byte(" "))
				_ = http.NewResponseController(rw).Flush()
				select {
				case <-time.After(time.Second):
				case <-req.Context().Done():
				}
			}
		}
		start := time.Now()
		check.Fails(t, call(t.Context(), w.transport(w.options())))
		check.Equal(t, "the call took", time.Since(start), 30*time.Second)
	})
}

func TestOpenBrowserRefuses(t *testing.T) {
	for _, u := range []string{"javascript:alert(1)", "file:///etc/passwd", "http://as.test/", "-help", "vbscript:x"} {
		check.Is(t, OpenBrowser(context.Background(), u), ErrUntrusted, u)
	}
	for system, want := range map[string]string{"windows": "rundll32", "darwin": "open", "linux": "xdg-open"} {
		name, args := browserCommand(system, "https://as.test/?a=1&b=$(x)")
		check.That(t, name == want && args[len(args)-1] == "https://as.test/?a=1&b=$(x)", "%s: got %s %q", system, name, args)
	}
}

// Each step fails in each way, with servers that echo every request, and no visible text has the secrets.
func TestNoSecretIsShown(t *testing.T) {
	var visible bytes.Buffer
	see := func(values ...any) {
		for _, v := range values {
			fmt.Fprintf(&visible, "%v\n%+v\n%#v\n%s\n%d\n", v, v, v, v, v)
		}
	}
	logger := slog.New(slog.NewJSONHandler(&visible, &slog.HandlerOptions{Level: slog.LevelDebug}))
	echo := func(status int) http.HandlerFunc {
		return func(rw http.ResponseWriter, req *http.Request) {
			body, _ := io.ReadAll(req.Body)
			form, _ := url.ParseQuery(string(body))
			reply(rw, status, map[string]any{
				"error": "invalid_request", "error_uri": string(body),
				"error_description": fmt.Sprintf("no %v %s", form, req.Header.Get("Authorization")),
			})
		}
	}
	cut := func(rw http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}
	garbage := func(rw http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		_, _ = rw.Write([]byte(`{"access_token": "access-secret-7", "refresh_token": 5, "x": "` + string(body)))
	}
	grants := map[string]func(w *world) Grant{
		"code": func(w *world) Grant {
			return &AuthorizationCode{Receiver: &person{w: w}, Clients: []Credentials{{Issuer: issuerOne, ID: "svc", Secret: "client-secret-1"}}}
		},
		"code, post": func(w *world) Grant {
			return &AuthorizationCode{Receiver: &person{w: w}, Clients: []Credentials{{Issuer: issuerOne, ID: "svc", Secret: "client-secret-1", Method: methodPost}}}
		},
		"refused": func(w *world) Grant {
			return &AuthorizationCode{Receiver: &person{w: w, answer: func(_ string, a url.Values) url.Values {
				a.Set("error", "x")
				a.Set("error_description", a.Encode())
				return a
			}}}
		},
		"other state": func(w *world) Grant {
			return &AuthorizationCode{Receiver: &person{w: w, answer: func(_ string, a url.Values) url.Values { a.Set("state", "x"); return a }}}
		},
		"service": func(*world) Grant {
			return ClientCredentials{{Issuer: issuerOne, ID: "svc", Secret: "client-secret-1"}}
		},
		"key": func(*world) Grant { return ClientCredentials{{Issuer: issuerOne, ID: "svc", Key: newKey(t)}} },
		"workload": func(*world) Grant {
			return &Workload{Issuers: []string{issuerOne}, Assertion: assertion("assertion-secret-1")}
		},
		"enterprise": func(*world) Grant {
			e := enterprise(t, []Credentials{{Issuer: issuerOne, ID: "svc", Secret: "client-secret-1"}})
			e.Client.Secret = "client-secret-2"
			e.SubjectToken = func(context.Context) (string, error) { return "subject-secret-1", nil }
			return e
		},
	}
	pages := map[string]http.HandlerFunc{"400": echo(400), "500": echo(500), "200": echo(200), "cut": cut, "garbage": garbage}
	failures := 0
	for grant, newGrant := range grants {
		for page, handler := range pages {
			w := newWorld(t)
			w.pages["as.test/token"], w.pages["idp.test/token"] = handler, handler
			opts := w.options()
			opts.Logger, opts.Store, opts.Grant = logger, NewMemoryStore(), newGrant(w)
			auth := w.transport(opts)
			err := call(t.Context(), auth)
			check.Fails(t, err, grant, page)
			failures++
			see(err, auth)
			for e := err; e != nil; e = errors.Unwrap(e) {
				see(e)
			}
		}
	}
	// Steps that work first, and then fail.
	w := newWorld(t)
	opts := w.options()
	opts.Logger = logger
	auth := w.transport(opts)
	w.mustCall(auth)
	w.revoke()
	w.set(func() { w.pages["as.test/token"] = echo(400) })
	see(call(t.Context(), auth), auth, auth.sessions.get().token, *auth.sessions.get().token, Credentials{ID: "svc", Secret: "client-secret-1"}, &Credentials{ID: "svc", Secret: "client-secret-1"})
	logger.Info("token", "value", auth.sessions.get().token, "credentials", Credentials{ID: "svc", Secret: "client-secret-1"})

	text := visible.String()
	for _, secret := range []string{"access-secret-", "refresh-secret-", "client-secret-", "assertion-secret-", "subject-secret-", "code-1", "Bearer acc", "Basic c", "code_verifier=", "eyJ"} {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%q is visible: …%s…", secret, text[max(0, i-200):min(len(text), i+80)])
		}
	}
	check.That(t, failures >= 30 && strings.Contains(text, "invalid_request") && strings.Contains(text, `"msg":"got a token"`),
		"got %d failures and too little to look at:\n%s", failures, text)
}
