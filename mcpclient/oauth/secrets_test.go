package oauth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestNoSecretIsShown makes each step fail in each way, with servers that echo
// every request, and searches all visible texts for the secrets.
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
