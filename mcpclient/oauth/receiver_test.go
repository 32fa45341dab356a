package oauth

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// get makes a request as a browser does.
func get(t *testing.T, method, target string) (status int, body string, header http.Header) {
	t.Helper()
	resp := check.Value(http.DefaultClient.Do(check.Value(http.NewRequestWithContext(t.Context(), method, target, nil))(t)))(t)
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode, string(check.Value(io.ReadAll(resp.Body))(t)), resp.Header
}

func TestLoopback(t *testing.T) {
	opened := make(chan string, 1)
	l := Loopback(func(_ context.Context, url string) error { opened <- url; return nil }, 0)
	r := check.Value(l.Listen(t.Context(), ""))(t)
	uri := r.RedirectURI()
	check.That(t, strings.HasPrefix(uri, "http://127.0.0.1:") && strings.HasSuffix(uri, "/callback"), "got redirect URI %q", uri)
	const authorizationURL = "https://as.test/authorize?state=the-state&scope=a+b"
	if status, body, _ := get(t, "GET", uri+"?code=x"); status != http.StatusBadRequest || !strings.Contains(body, "Not expected") {
		t.Fatalf("got %d %q for an answer before the question, want 400", status, body)
	}
	got := make(chan url.Values, 1)
	go func() {
		answer, err := r.Receive(t.Context(), authorizationURL)
		check.NoError(t, err)
		got <- answer
	}()
	check.Equal(t, "opened", <-opened, authorizationURL)
	for _, bad := range []struct {
		method, path string
		status       int
	}{
		{"GET", "?state=guess&code=x", http.StatusBadRequest},
		{"GET", "?code=x", http.StatusBadRequest},
		{"POST", "?state=the-state&code=x", http.StatusMethodNotAllowed},
		{"GET", "/../favicon.ico", http.StatusNotFound},
	} {
		if status, body, _ := get(t, bad.method, uri+bad.path); status != bad.status || !strings.Contains(body, "Not expected") {
			t.Errorf("%s %s: got %d %q, want %d", bad.method, bad.path, status, body, bad.status)
		}
	}
	status, body, header := get(t, "GET", uri+"?state=the-state&code=the-code&error_description=%3Cscript%3E")
	if status != http.StatusOK || strings.Contains(body, "script") || strings.Contains(body, "the-code") || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("got %d %q %v", status, body, header)
	}
	check.Equal(t, "the answer", (<-got).Get("code"), "the-code")
	for _, again := range []string{"?state=the-state&code=again", "?code=again", "?state=&code=again"} {
		status, _, _ := get(t, "GET", uri+again)
		check.That(t, status == http.StatusBadRequest, "%s: got %d for a second answer, want 400", again, status)
	}
	check.NoError(t, r.Close())
	check.Fails(t, check.Err(net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(uri, "http://"), "/callback"))), "the port after Close")
	again := check.Value(l.Listen(t.Context(), uri))(t)
	check.Equal(t, "the same redirect URI as before", again.RedirectURI(), uri)
	busy, err := l.Listen(t.Context(), uri)
	check.That(t, err == nil && busy.RedirectURI() != uri, "got %v, %v, want another port while that one is taken", busy, err)
	for _, r := range []Listener{again, busy} {
		check.NoError(t, r.Close())
	}
}

func TestLoopbackEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := check.Value(Loopback(func(context.Context, string) error { cancel(); return nil }, 0).Listen(ctx, ""))(t)
	check.Is(t, check.Err(r.Receive(ctx, "https://as.test/?state=x")), context.Canceled)
	check.NoError(t, r.Close())
	refusing := check.Value(Loopback(func(context.Context, string) error { return errors.New("declined") }, 0).Listen(t.Context(), ""))(t)
	defer func() { _ = refusing.Close() }()
	check.Text(t, check.Err(refusing.Receive(t.Context(), "https://as.test/?state=x")), "declined")
	panicking := check.Value(Loopback(func(context.Context, string) error { panic("boom") }, 0).Listen(t.Context(), ""))(t)
	defer func() { _ = panicking.Close() }()
	check.Text(t, check.Err(panicking.Receive(t.Context(), "https://as.test/?state=x")), "the function of Loopback panicked: boom")
	pasting := check.Value(Paste(func(context.Context, string) (string, error) { panic("boom") }).Listen(t.Context(), ""))(t)
	check.Text(t, check.Err(pasting.Receive(t.Context(), "https://as.test/?state=x")), "the function of Paste panicked: boom")
}

// TestLoopbackDoesNotWaitForOpen: Open may ask a question on a terminal.
func TestLoopbackDoesNotWaitForOpen(t *testing.T) {
	answered := make(chan struct{})
	defer close(answered)
	opened := make(chan string, 1)
	r := check.Value(Loopback(func(context.Context, string) error { opened <- ""; <-answered; return nil }, 0).Listen(t.Context(), ""))(t)
	got := make(chan error, 1)
	go func() {
		got <- check.Err(r.Receive(t.Context(), "https://as.test/?state=x"))
	}()
	<-opened
	status, _, _ := get(t, "GET", r.RedirectURI()+"?state=x&code=y")
	check.That(t, status == http.StatusOK, "got %d", status)
	check.NoError(t, errors.Join(<-got, r.Close()))
}

func TestPaste(t *testing.T) {
	const uri = "http://127.0.0.1/callback"
	for _, tt := range []struct {
		pasted string
		code   string // empty if it is refused
	}{
		{uri + "?code=c&state=s", "c"}, {"  " + uri + "?code=c&state=s\n", "c"}, {"c", ""}, {"", ""},
		{"https://evil.test/callback?code=c&state=s", ""},
		{uri + "/other?code=c", ""},
		{uri + "?code=%zz", ""},
	} {
		r := check.Value(Paste(func(_ context.Context, url string) (string, error) {
			check.Equal(t, "shown", url, "https://as.test/authorize?x=y")
			return tt.pasted, nil
		}).Listen(t.Context(), ""))(t)
		answer, err := r.Receive(t.Context(), "https://as.test/authorize?x=y")
		if tt.code == "" {
			wantUntrusted(t, err, "copy the whole address")
		} else if err != nil || answer.Get("code") != tt.code {
			t.Errorf("%q: got %v, %v", tt.pasted, answer, err)
		}
	}
}

// A worker does not wait for a person. Once the person has signed in elsewhere, the worker finds the token in the store.
func TestSignInElsewhere(t *testing.T) {
	w := newWorld(t)
	page, worker := w.options(), w.options()
	page.Store = NewMemoryStore()
	worker.Store, worker.Grant = page.Store, &AuthorizationCode{Receiver: SignInPage("https://host.test/sign-in?user=secret")}
	auth := w.transport(worker)
	for range 2 {
		err := call(t.Context(), auth)
		needed, ok := errors.AsType[*mcp.SignInError](err)
		check.Require(t, ok && needed.URL == "https://host.test/sign-in?user=secret" && mcpclient.Unsent(err),
			"got %v, want that a person has to sign in", err)
		if text := err.Error(); strings.Contains(text, "secret") || !strings.Contains(text, "https://host.test/sign-in") {
			t.Errorf("the error says %q, want the page without its query", text)
		}
	}
	check.Must(t, w.transport(page).SignIn(t.Context()))
	w.mustCall(auth)
	check.That(t, len(w.asked) == 1 && len(w.forms) == 1, "got %d sign-ins and %d token requests, want one of each", len(w.asked), len(w.forms))
}
