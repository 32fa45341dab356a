package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
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

// endless is a body of 1 GiB.
func endless(sent *int) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		chunk := []byte(`{"issuer":"` + strings.Repeat("x", 64<<10))
		for *sent < 1<<30 {
			n, err := rw.Write(chunk)
			*sent += n
			if err != nil {
				return
			}
		}
	}
}

func TestDocumentsAreBounded(t *testing.T) {
	for _, page := range []string{"mcp.test/.well-known/oauth-protected-resource/mcp", "as.test/.well-known/oauth-authorization-server", "as.test/register", "as.test/token"} {
		w, sent := newWorld(t), 0
		w.pages[page] = endless(&sent)
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
