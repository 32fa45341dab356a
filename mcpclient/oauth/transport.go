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

	"github.com/mcpchain/mcpchain/mcpclient/internal/redirect"
)

// Transport is an [http.RoundTripper] that authorizes the requests to one MCP server. Requests to
// other origins, and those that already have an Authorization header, pass unchanged. Its methods
// may be called concurrently.
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

// Close ends sign-ins and renewals: requests that wait for a token fail, and so do later requests
// that would need a new one. It waits for the goroutines of the transport, and returns nil.
// Transports of [Options] stay open.
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
// The error matches [ErrUntrusted] or [ErrNoAuthorization], is a [*ServerError] or an
// [*mcp.SignInError], says that the transport is closed or why there is no token, or comes from
// Options.Transport.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin(req.URL) != origin(t.server) || req.Header.Get("Authorization") != "" {
		return t.base.RoundTrip(req)
	}
	s, err := t.currentSession(req.Context())
	if err != nil {
		closeBody(req)
		return nil, err
	}
	a := &attempts{transport: t, req: req}
	for {
		resp, err := a.send(s)
		if err != nil {
			return nil, err
		}
		next, err := a.nextSession(resp, s)
		if err != nil {
			discard(resp)
			return nil, err
		}
		if next == nil {
			return resp, nil
		}
		discard(resp)
		s = next
	}
}

// maxSends bounds how often one request is sent.
const maxSends = 10

// attempts records the attempts to send one request.
type attempts struct {
	transport    *Transport
	req          *http.Request
	sent         int
	stepUps      int  // requests for more scopes
	triedNonce   bool // a nonce of the server was tried, for the DPoP proof
	triedRefresh bool // a refreshed or stored token was tried
	acquired     bool // a newly acquired token was tried
}

// send makes the request with the token of s, or without one if s is nil. Like RoundTrip it closes
// the body of the request, even if it fails.
func (a *attempts) send(s *session) (*http.Response, error) {
	req := a.req.Clone(a.req.Context())
	if a.sent > 0 && req.Body != nil && req.Body != http.NoBody {
		body, err := a.req.GetBody()
		if err != nil {
			return nil, fmt.Errorf("repeat the request with a new token: %w", err)
		}
		req.Body = body
	}
	a.sent++
	if s != nil {
		req.Header.Set("Authorization", s.token.Type+" "+s.token.Access)
		if s.token.Type == "DPoP" {
			proof, err := a.transport.dpop.proof(req.Method, req.URL.String(), s.token.Access, nil)
			if err != nil {
				closeBody(req)
				return nil, err
			}
			req.Header.Set("Dpop", proof)
		}
	}
	resp, err := a.transport.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Request = a.req
	return resp, nil
}

// isRepeatable reports whether the request can be sent again. A DELETE ends a session, for which no
// person should have to sign in.
func (a *attempts) isRepeatable() bool {
	if a.req.Method == http.MethodDelete {
		return false
	}
	return a.req.Body == nil || a.req.Body == http.NoBody || a.req.GetBody != nil
}

// nextSession returns the session for another attempt after a response. It is nil if the caller
// gets the response, because the server accepted the request, the request cannot be made again, or
// another token would not help. The error says why there is no token.
func (a *attempts) nextSession(resp *http.Response, s *session) (*session, error) {
	hasNonce := a.transport.dpop.storeNonce(a.req.URL.String(), resp.Header)
	refused := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
	if !refused || !a.isRepeatable() || a.sent >= maxSends {
		return nil, nil
	}
	d, ours := parseDemand(resp.Header, a.transport.dpop != nil)
	switch {
	case !ours:
		return nil, nil // another kind of authentication
	case d.code == "use_dpop_nonce" && s != nil:
		if !hasNonce || a.triedNonce {
			return nil, nil
		}
		a.triedNonce = true
		return s, nil
	case d.scheme == "dpop" && a.transport.dpop == nil:
		return nil, fmt.Errorf("%s demands tokens that are bound to a key: set Options.DPoP", a.transport.name)
	case resp.StatusCode == http.StatusForbidden:
		return a.stepUp(d, s)
	}
	return a.renew(d, s)
}

// renew answers a 401: with a stored token, then a refreshed one, then a newly acquired one. If the
// server refuses that too, it returns an error.
func (a *attempts) renew(d *demand, s *session) (*session, error) {
	if a.acquired {
		return nil, fmt.Errorf("%s refuses the token that authorization server %s has just issued for it (%q): "+
			"the two servers do not agree; their operators must look at it", a.transport.name, safeURL(s.site.issuer()), cut(d.code))
	}
	next, err := a.transport.renew(a.req.Context(), &renewal{demand: d, previous: s, acquire: a.triedRefresh})
	if err != nil {
		return nil, err
	}
	a.acquired = next.acquired
	if !next.acquired {
		a.triedRefresh = true
	}
	return next, nil
}

// stepUp answers a 403 that asks for more scopes: with a token that another request has got
// meanwhile, or with a new one. It is an error if the scopes were requested before.
func (a *attempts) stepUp(d *demand, s *session) (*session, error) {
	// Servers of the official Go SDK name the scopes, but not the error.
	if d.code != "insufficient_scope" && (d.code != "" || len(d.scopes) == 0) {
		return nil, nil
	}
	if s != nil && s.token.wasAskedFor(d.scopes) {
		// Another request may have got a token meanwhile.
		if now := a.transport.sessions.get(); now != nil && isOther(now, s) && a.stepUps < maxStepUps {
			a.stepUps++
			return now, nil
		}
		return nil, &ServerError{Issuer: a.transport.name, Code: codeScope, scopes: d.scopes}
	}
	if a.stepUps++; a.stepUps > maxStepUps {
		return nil, fmt.Errorf("%s keeps asking for more scopes: gave up after %d requests", a.transport.name, maxStepUps)
	}
	return a.transport.renew(a.req.Context(), &renewal{demand: d, previous: s, acquire: true, stepUp: true})
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

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// discardTime bounds the reading of an error, as it may be endless.
const discardTime = time.Second

// discard reads a short error body, so that the connection can be used again.
func discard(resp *http.Response) {
	late := time.AfterFunc(discardTime, func() { _ = resp.Body.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	_ = resp.Body.Close()
}
