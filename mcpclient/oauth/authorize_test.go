package oauth

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// answering is a person with an answer that an attacker changes.
func answering(w *world, change func(answer url.Values)) *Options {
	return w.granted(&AuthorizationCode{Receiver: &person{w: w, answer: func(_ string, answer url.Values) url.Values {
		change(answer)
		return answer
	}}})
}

// TestAnswerIsChecked: unless an answer is surely the right server's, its code is not used and its words are not shown.
func TestAnswerIsChecked(t *testing.T) {
	for _, tt := range []struct {
		name      string
		supported any // authorization_response_iss_parameter_supported
		change    func(url.Values)
		want      string // part of the error; empty for success
	}{
		{"iss supported and right", true, func(url.Values) {}, ""},
		{"iss supported and missing", true, func(a url.Values) { a.Del("iss") }, "names no issuer"},
		{"iss supported and empty", true, func(a url.Values) { a.Set("iss", "") }, "another issuer"},
		{"iss supported and wrong", true, func(a url.Values) { a.Set("iss", "https://evil.test") }, "another issuer"},
		{"iss not announced and right", nil, func(url.Values) {}, ""},
		{"iss not announced and missing", nil, func(a url.Values) { a.Del("iss") }, ""},
		{"iss not announced and wrong", nil, func(a url.Values) { a.Set("iss", "https://evil.test") }, "another issuer"},
		{"iss with a slash more", true, func(a url.Values) { a.Set("iss", issuerOne+"/") }, "another issuer"},
		{"iss in capitals", true, func(a url.Values) { a.Set("iss", "https://AS.test") }, "another issuer"},
		{"iss with the default port", true, func(a url.Values) { a.Set("iss", issuerOne+":443") }, "another issuer"},
		{"state missing", true, func(a url.Values) { a.Del("state") }, "another state"},
		{"state wrong", true, func(a url.Values) { a.Set("state", "guess") }, "another state"},
		{"state twice", true, func(a url.Values) { a.Add("state", "guess") }, "twice"},
		{"code twice", true, func(a url.Values) { a.Add("code", "stolen") }, "twice"},
		{"another parameter twice", true, func(a url.Values) { a["call-this-number"] = []string{"1", "2"} }, "twice"},
		{"no code", true, func(a url.Values) { a.Del("code") }, "no code"},
		{"long code", true, func(a url.Values) { a.Set("code", strings.Repeat("x", maxToken+1)) }, "has 65537 bytes, want at most 65536"},
		{"error of another issuer", true, func(a url.Values) {
			a.Set("iss", "https://evil.test")
			a.Set("error", "call-this-number")
			a.Set("error_description", "call-this-number")
		}, "another issuer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.meta["authorization_response_iss_parameter_supported"] = tt.supported
			err := call(t.Context(), w.transport(answering(w, tt.change)))
			if tt.want == "" {
				check.Must(t, err)
				return
			}
			wantUntrusted(t, err, tt.want)
			check.That(t, len(w.forms) == 0 && !strings.Contains(err.Error(), "call-this-number"), "got token requests %v, error %v", w.forms, err)
		})
	}
}

// TestRefusalIsExplained: the error has the server's words and advice.
func TestRefusalIsExplained(t *testing.T) {
	w := newWorld(t)
	err := call(t.Context(), w.transport(answering(w, func(a url.Values) {
		a.Del("code")
		a.Set("error", "access_denied")
		a.Set("error_description", "state is "+a.Get("state"))
	})))
	refused, ok := errors.AsType[*ServerError](err)
	check.That(t, ok && refused.Code == "access_denied" && refused.Issuer == issuerOne && strings.Contains(err.Error(), "allow the access"),
		"got %v, want a ServerError with access_denied", err)
	check.That(t, !ok || strings.Contains(refused.description, "[secret]"), "got %+v with the state in it", refused)
}

// TestStolenCode: a code of the victim's sign-in, put into the attacker's own answer, has another verifier.
func TestStolenCode(t *testing.T) {
	w := newWorld(t)
	var stolen string
	victim := answering(w, func(a url.Values) { stolen = a.Get("code"); a.Set("state", "lost") })
	wantUntrusted(t, call(t.Context(), w.transport(victim)), "another state")
	err := call(t.Context(), w.transport(answering(w, func(a url.Values) { a.Set("code", stolen) })))
	refused, ok := errors.AsType[*ServerError](err)
	check.That(t, ok && refused.Code == "invalid_grant", "got %v, want the server to refuse the code for its verifier", err)
}

// TestReplayedAnswer: an answer of an earlier sign-in is refused.
func TestReplayedAnswer(t *testing.T) {
	w := newWorld(t)
	var first url.Values
	auth := w.transport(w.granted(&AuthorizationCode{Receiver: &person{w: w, answer: func(_ string, answer url.Values) url.Values {
		if first == nil {
			first = answer
		}
		return first
	}}}))
	w.mustCall(auth)
	w.revoke()
	w.set(func() { clear(w.refreshes) })
	wantUntrusted(t, call(t.Context(), auth), "another state")
	a, b := query(t, w.asked[0], "state"), query(t, w.asked[1], "state")
	check.That(t, a != b && len(a) >= 20, "got states %q and %q, want two that cannot be guessed", a, b)
	a, b = query(t, w.asked[0], "code_challenge"), query(t, w.asked[1], "code_challenge")
	check.That(t, a != b, "got the same code challenge twice")
}

func TestClientIdentityOrder(t *testing.T) {
	registered := Credentials{Issuer: issuerOne, ID: "by-hand", Secret: "secret-of-hand"}
	doc := &Credentials{ID: "https://host.test/client.json"}
	for _, tt := range []struct {
		name  string
		grant AuthorizationCode
		meta  map[string]any
		want  string
	}{
		{"by hand first", AuthorizationCode{Clients: []Credentials{registered}, Document: doc}, map[string]any{"client_id_metadata_document_supported": true}, "by-hand"},
		{"document next", AuthorizationCode{Document: doc}, map[string]any{"client_id_metadata_document_supported": true}, doc.ID},
		{"registration where documents are not taken", AuthorizationCode{Document: doc}, nil, "client-1-of-as.test"},
		{"of whichever server", AuthorizationCode{Client: &Credentials{ID: "given"}, Document: doc, RegisterAs: "Test"}, map[string]any{"client_id_metadata_document_supported": true}, "given"},
		{"by hand before that", AuthorizationCode{Clients: []Credentials{registered}, Client: &Credentials{ID: "given"}}, nil, "by-hand"},
		{"where no server of a client is named", AuthorizationCode{Clients: []Credentials{{Issuer: issuerTwo, ID: "other"}}, Client: &Credentials{ID: "given"}}, nil, "given"},
		{"credentials of another server are not used", AuthorizationCode{Clients: []Credentials{{Issuer: issuerTwo, ID: "other"}}, RegisterAs: "Test"}, nil, "client-1-of-as.test"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			for k, v := range tt.meta {
				w.meta[k] = v
			}
			tt.grant.Receiver = &person{w: w}
			w.mustCall(w.transport(w.granted(&tt.grant)))
			check.Equal(t, "client_id", query(t, w.asked[0], "client_id"), tt.want)
		})
	}
}

// The host may reuse its values after New.
func TestConfiguredClientsAreCopied(t *testing.T) {
	for name, grant := range map[string]func(c *Credentials) AuthorizationCode{
		"Client":   func(c *Credentials) AuthorizationCode { return AuthorizationCode{Client: c} },
		"Document": func(c *Credentials) AuthorizationCode { return AuthorizationCode{Document: c} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.meta["client_id_metadata_document_supported"] = true
			c := &Credentials{ID: "https://host.test/client.json"}
			g := grant(c)
			g.Receiver = &person{w: w}
			auth := w.transport(w.granted(&g))
			c.ID = "changed"
			w.mustCall(auth)
			check.Equal(t, "client_id", query(t, w.asked[0], "client_id"), "https://host.test/client.json")
		})
	}
}

func TestCredentialsOfAnotherServer(t *testing.T) {
	w := newWorld(t)
	opts := w.granted(&AuthorizationCode{Receiver: &person{w: w}, Clients: []Credentials{{Issuer: issuerTwo, ID: "x", Secret: "y"}}})
	wantUntrusted(t, call(t.Context(), w.transport(opts)), "register with the new one")
	check.That(t, !slices.Contains(w.paths, "GET "+issuerOne+"/.well-known/oauth-authorization-server"),
		"continued with a server without credentials for it")
}

// get makes a request as a browser does.
func get(t *testing.T, method, target string) (status int, body string, header http.Header) {
	t.Helper()
	resp := check.Value(http.DefaultClient.Do(check.Value(http.NewRequestWithContext(t.Context(), method, target, nil))(t)))(t)
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode, string(check.Value(io.ReadAll(resp.Body))(t)), resp.Header
}

// at returns a function that gives a receiver a URL to sign in at.
func at(url string) func(string) (string, error) {
	return func(string) (string, error) { return url, nil }
}

func TestLoopback(t *testing.T) {
	opened := make(chan string, 1)
	l := Loopback(func(_ context.Context, url string) error { opened <- url; return nil }, 0)
	const authorizationURL = "https://as.test/authorize?state=the-state&scope=a+b"
	var uri string
	got := make(chan url.Values, 1)
	go func() {
		answer, err := l.Receive(t.Context(), "", func(redirectURI string) (string, error) {
			uri = redirectURI
			status, body, _ := get(t, "GET", uri+"?code=x")
			check.That(t, status == http.StatusBadRequest && strings.Contains(body, "Not expected"), "got %d %q for an answer before the question, want 400", status, body)
			return authorizationURL, nil
		})
		check.NoError(t, err)
		got <- answer
	}()
	check.Equal(t, "opened", <-opened, authorizationURL)
	check.That(t, strings.HasPrefix(uri, "http://127.0.0.1:") && strings.HasSuffix(uri, "/callback"), "got redirect URI %q", uri)
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
	policy := header.Get("Content-Security-Policy")
	check.That(t, status == http.StatusOK && !strings.Contains(body, "script") && !strings.Contains(body, "the-code") && strings.Contains(policy, "default-src 'none'"), "got %d %q %v", status, body, header)
	check.Equal(t, "the answer", (<-got).Get("code"), "the-code")
	check.Fails(t, check.Err(net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(uri, "http://"), "/callback"))), "the port after the answer")
	enough := errors.New("enough")
	_, err := l.Receive(t.Context(), uri, func(again string) (string, error) {
		check.Equal(t, "the same redirect URI as before", again, uri)
		_, err := l.Receive(t.Context(), uri, func(busy string) (string, error) {
			check.That(t, busy != uri, "got %s, want another port while that one is taken", busy)
			return "", enough
		})
		return "", err
	})
	check.Is(t, err, enough)
}

// TestLoopbackTakesOneAnswer sends a second answer while the page of the first one is written.
func TestLoopbackTakesOneAnswer(t *testing.T) {
	r := &loopbackReception{state: "s", answer: make(chan url.Values, 1)}
	for _, tt := range []struct {
		state string
		want  bool
	}{{"", false}, {"other", false}, {"s", true}, {"s", false}, {"", false}} {
		check.Equal(t, "an answer with the state "+tt.state, r.acceptAnswer(url.Values{"state": {tt.state}}), tt.want)
	}
}

func TestLoopbackEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	sign := at("https://as.test/?state=x")
	check.Is(t, check.Err(Loopback(func(context.Context, string) error { cancel(); return nil }, 0).Receive(ctx, "", sign)), context.Canceled)
	check.Text(t, check.Err(Loopback(func(context.Context, string) error { return errors.New("declined") }, 0).Receive(t.Context(), "", sign)), "declined")
	check.Text(t, check.Err(Loopback(func(context.Context, string) error { panic("boom") }, 0).Receive(t.Context(), "", sign)), "the function of Loopback panicked: boom")
	check.Text(t, check.Err(Paste(func(context.Context, string) (string, error) { panic("boom") }).Receive(t.Context(), "", sign)), "the function of Paste panicked: boom")
}

// TestLoopbackDoesNotWaitForOpen: Open may ask a question on a terminal.
func TestLoopbackDoesNotWaitForOpen(t *testing.T) {
	answered := make(chan struct{})
	defer close(answered)
	opened := make(chan string, 1)
	l := Loopback(func(context.Context, string) error { opened <- ""; <-answered; return nil }, 0)
	got, uri := make(chan error, 1), ""
	go func() {
		got <- check.Err(l.Receive(t.Context(), "", func(redirectURI string) (string, error) {
			uri = redirectURI
			return "https://as.test/?state=x", nil
		}))
	}()
	<-opened
	status, _, _ := get(t, "GET", uri+"?state=x&code=y")
	check.That(t, status == http.StatusOK, "got %d", status)
	check.NoError(t, <-got)
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
		answer, err := Paste(func(_ context.Context, url string) (string, error) {
			check.Equal(t, "shown", url, "https://as.test/authorize?x=y")
			return tt.pasted, nil
		}).Receive(t.Context(), "", at("https://as.test/authorize?x=y"))
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
	w.set(func() { w.challenge, w.need = `scope="read"`, []string{"write"} })
	check.Fails(t, call(t.Context(), auth), "a scope is missing")
	page.Scopes = []string{"write"}
	again := w.transport(page)
	check.Must(t, errors.Join(again.SignOut(t.Context()), again.SignIn(t.Context())))
	w.mustCall(auth)
	check.Equal(t, "scope", query(t, w.asked[1], "scope"), "read write")
}
