package signin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const address = "https://auth.example.com/a?state=s"

// at returns a function that gives a receiver a URL to sign in at.
func at(url string) func(string) (string, error) {
	return func(string) (string, error) { return url, nil }
}

// Without a person, a sign-in is refused at once.
func TestNotAsking(t *testing.T) {
	_, err := (&Page{Advice: "do it later"}).Receive(t.Context(), "", at(address))
	needed, ok := errors.AsType[*NeededError](err)
	check.That(t, ok && needed.Error() == "the server wants a sign-in: do it later", "got %v, want a NeededError", err)
}

// What a person pastes is taken if it is the answer.
func TestPaste(t *testing.T) {
	var uri string
	var mistakes []error
	p := &Page{Visit: func(_ context.Context, v *Visit) (string, error) {
		check.That(t, v.URL == address && v.Link.Host == "auth.example.com", "got %+v, want the page", v)
		mistakes = append(mistakes, v.Mistake)
		return []string{
			"https://auth.example.com/callback?code=c&state=s", uri + "?code=c&state=other", " " + uri + "?code=c&state=s\n",
		}[len(mistakes)-1], nil
	}}
	answer, err := p.Receive(Asking(t.Context()), "", func(redirectURI string) (string, error) {
		uri = redirectURI
		return address, nil
	})
	check.That(t, err == nil && answer.Get("code") == "c", "got %v, %v, want the code", answer, err)
	check.That(t, len(mistakes) == 3 && mistakes[0] == nil && mistakes[1] != nil && mistakes[2] != nil,
		"got %v, want two mistakes", mistakes)
}

// The end of the turn ends the question, though the request continues for a while.
func TestEndOfAsking(t *testing.T) {
	stop := errors.New("the turn was ended")
	asked, end := context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	p := &Page{Visit: func(ctx context.Context, _ *Visit) (string, error) {
		end(stop)
		<-ctx.Done()
		close(ended)
		return "", ctx.Err()
	}}
	check.Is(t, check.Err(p.Receive(context.WithoutCancel(Asking(asked)), "", at(address))), stop)
	<-ended
}

// A person who does not want to sign in, and a page that is not one, end the sign-in.
func TestNoVisit(t *testing.T) {
	p := &Page{Visit: func(context.Context, *Visit) (string, error) { return "", ErrDeclined }}
	for page, want := range map[string]bool{address: true, "javascript:x?state=s": false} {
		_, err := p.Receive(Asking(t.Context()), "", at(page))
		check.That(t, err != nil && errors.Is(err, ErrDeclined) == want, "%s: got %v", page, err)
	}
}

func TestExplain(t *testing.T) {
	for want, err := range map[string]error{
		"you did not sign in": ErrDeclined,
		"https://a.example says that the access was not allowed: sign in again, and allow it there":                                                &oauth.ServerError{Issuer: "https://a.example", Code: "access_denied"},
		`the sign-in service refused: authorization server https://a.example answered "x"`:                                                         &oauth.ServerError{Issuer: "https://a.example", Code: "x"},
		"the server wants a key, and does not say where to sign in: get a key from its operator, and " + header:                                    oauth.ErrNoAuthorization,
		"the sign-in was stopped, since something about it is not right: oauth: untrusted":                                                         oauth.ErrUntrusted,
		"the server wants a key, or another one than it got: get one from its operator, and " + header + " (HTTP status 401 of https://b.example)": &transport.HTTPError{Status: 401, URL: "https://b.example"},
		"the sign-in took too long; begin again":                                                                                                   context.DeadlineExceeded,
		"the server or its sign-in service cannot be reached: dial: no":                                                                            &net.OpError{Op: "dial", Err: errors.New("no")},
	} {
		got := Failure(err)
		check.That(t, got.Error() == want && errors.Is(got, err), "got %q, want %q", got, want)
	}
	for _, other := range []error{errors.New("other"), context.DeadlineExceeded} {
		check.Equal(t, "the error as it is", Explain(other), other)
	}
	got := Explain(nil)
	check.That(t, got == nil, "got %v, want nil", got)
}

// A server that is started, or has a token, has no sign-in.
func TestAuthorize(t *testing.T) {
	file := `{"servers": {"started": {"command": "x"}, "token": {"url": "https://a.example", "headers": {"authorization": "Bearer x"}},
		"plain": {"url": "https://a.example"}, "old": {"type": "sse", "url": "https://a.example", "oauth": {"callbackPort": 99}},
		"open": {"url": "http://a.example"}}}`
	loader := config.Loader{AllowSignIn: true}
	cfg := check.Value(loader.LoadData(t.Context(), "mcp.json", []byte(file)))(t)
	for i := range cfg {
		s := &cfg[i]
		check.Must(t, s.Err)
		transport, err := Authorize(s, &Options{Receiver: NotNow("")})
		got, want := transport != nil, s.Name == "plain" || s.Name == "old"
		check.That(t, got == want && (err != nil) == (s.Name == "open"), "%s: got %v, %v", s.Name, transport, err)
		if transport != nil {
			_ = transport.Close()
		}
		check.Equal(t, s.Name, Port(s), map[string]int{"old": 99}[s.Name])
	}
}

// TestRedirect: a person whose server moved is told its URL, and nothing about a sign-in.
func TestRedirect(t *testing.T) {
	server := httptest.NewServer(http.RedirectHandler("https://moved.example/mcp", http.StatusTemporaryRedirect))
	defer server.Close()
	s := &config.Server{Name: "moved", Transport: &mcpclient.HTTP{URL: server.URL}}
	auth := check.Value(Authorize(s, &Options{Receiver: NotNow("")}))(t)
	defer func() { _ = auth.Close() }()
	_, err := mcpclient.Connect(t.Context(), s.Transport, nil)
	const want = "use the URL https://moved.example/mcp if you trust it"
	check.That(t, err != nil && strings.Contains(Explain(err).Error(), want) && !strings.Contains(Explain(err).Error(), "sign-in"), "got %v, want %q", Explain(err), want)
}
