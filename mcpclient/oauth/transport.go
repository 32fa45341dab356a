package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/mcpchain/mcpchain/internal/reach"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redirect"
)

// Transport is an [http.RoundTripper] that authorizes the requests to one MCP server. Requests to other origins, and
// those that already have an Authorization header, pass unchanged. Its methods may be called concurrently.
type Transport struct {
	server     *url.URL
	name       string // the URL of the server in errors and logs
	opts       *Options
	log        *slog.Logger
	flow       flow
	base       http.RoundTripper
	fetch      *fetcher
	configured *fetcher // fetches from endpoints that the configuration names
	registrar  registrar
	dpop       *dpopState // nil without DPoP

	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	loading  chan struct{} // has room for one reader of the store
	sessions sessions
}

// Client returns an HTTP client that authorizes its requests. It follows at most 5 redirects,
// all to the origin of the request and none that changes its method.
func (t *Transport) Client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: redirect.SameOrigin}
}

// Format writes the URL of the server, whatever the verb.
func (t *Transport) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "oauth.Transport{"+t.name+"}")
}

// Close ends sign-ins and renewals: requests that wait for a token fail, and so do later requests that would need a new
// one. It waits for the goroutines of the transport, and returns nil. Transports of [Options] stay open.
func (t *Transport) Close() error {
	t.sessions.close()
	t.cancel()
	t.sessions.running.Wait()
	if t.opts.AuthTransport == nil {
		closeIdle(t.fetch.base)
		closeIdle(t.configured.base)
	}
	if t.opts.Transport == nil {
		closeIdle(t.base)
	}
	return nil
}

// CloseIdleConnections closes idle connections to the MCP server.
func (t *Transport) CloseIdleConnections() { closeIdle(t.base) }

// closeIdle closes the idle connections of a transport that can do so.
func closeIdle(base http.RoundTripper) { (&http.Client{Transport: base}).CloseIdleConnections() }

// RoundTrip makes a request with the token. If the server refuses it, RoundTrip gets, renews or
// extends the token and makes the request again, at most 10 times in all. It does not repeat a
// DELETE, or a body without GetBody. If the server still refuses, RoundTrip returns its response.
// A request to another origin, or with an Authorization header, is made as it is.
//
// The error matches [ErrUntrusted] or [ErrNoAuthorization], is a [*ServerError] or an [*mcp.SignInError], says that the
// transport is closed or why there is no token, or comes from Options.Transport.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if reach.Origin(req.URL) != reach.Origin(t.server) || req.Header.Get("Authorization") != "" {
		return t.base.RoundTrip(req)
	}
	s, err := t.currentSession(req.Context())
	if err != nil {
		closeBody(req)
		return nil, err
	}
	return (&attempts{transport: t, req: req}).run(s)
}

// SignIn gets a token before the first request, for example for a "connect" button. It does nothing
// if a valid token is stored, or the server demands none. It may wait for a person, and returns
// early when ctx ends; the sign-in then continues for 30 s. The errors are like RoundTrip's.
func (t *Transport) SignIn(ctx context.Context) error {
	s, err := t.currentSession(ctx)
	if err != nil || s != nil && !s.token.isExpired(time.Now(), s.token.lastMargin()) {
		return err
	}
	needed, d, err := t.probe(ctx)
	if err != nil || !needed {
		return err
	}
	d.scopes = union(d.scopes, t.opts.Scopes)
	_, err = t.renew(ctx, &renewal{demand: d, previous: s})
	return err
}

// SignOut forgets the token and the client's registration. It does not revoke the token at the
// authorization server. A sign-in or renewal that is under way is cancelled; other transports with
// the same store use their token until they need a new one. After an error it may be called again.
func (t *Transport) SignOut(ctx context.Context) error {
	release, err := t.sessions.clear(ctx)
	if err != nil {
		return err
	}
	defer release()
	l, err := t.storedLink(ctx)
	if err != nil {
		return err
	}
	if l != nil {
		err = errors.Join(
			save(ctx, t.opts.Store, t.tokenKey(l.Resource, l.Issuer), nil),
			save(ctx, t.opts.Store, t.registrar.key(l.Issuer), nil))
	}
	if err != nil {
		return err // and the link leads to what is left
	}
	return save(ctx, t.opts.Store, t.linkKey(), nil)
}
