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
)

// Transport is an [http.RoundTripper] that authorizes the requests to one MCP
// server. Requests to other origins, and those with an Authorization of their
// own, pass unchanged. Its methods may be called concurrently.
type Transport struct {
	server     *url.URL
	shown      string
	opts       *Options
	log        *slog.Logger
	flow       flow
	base       http.RoundTripper
	fetch      *fetcher
	configured *fetcher // for endpoints of the configuration
	registrar  registrar
	dpop       *dpopState // nil without DPoP

	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	loading  chan struct{} // has room for one reader of the store
	sessions sessions
}

// Client returns an HTTP client that authorizes its requests. It follows no
// redirect to another origin.
func (t *Transport) Client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if origin(req.URL) != origin(via[0].URL) {
			return untrusted("%s redirects to another origin, %s://%s", shown(via[0].URL.String()), req.URL.Scheme, req.URL.Host)
		}
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		return nil
	}}
}

// Format writes the URL of the server, whatever the verb.
func (t *Transport) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "oauth.Transport{"+t.shown+"}")
}

// Close ends running attempts: requests that wait for a token fail. It returns
// when no goroutine of the transport runs.
func (t *Transport) Close() error {
	t.sessions.close()
	t.cancel()
	t.sessions.running.Wait()
	for _, f := range []*fetcher{t.fetch, t.configured} {
		if own, ok := f.base.(*http.Transport); ok && t.opts.AuthTransport == nil {
			own.CloseIdleConnections()
		}
	}
	if t.opts.Transport == nil {
		t.CloseIdleConnections()
	}
	return nil
}

// CloseIdleConnections closes idle connections to the MCP server.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip makes a request with the token. If the server refuses it, RoundTrip
// gets, renews or extends the token, and makes the request again: at most 10 times in all,
// and not if it is a DELETE or has a body without GetBody. Then the response is returned.
// A request to another origin than the server's, or with an Authorization of its own, is
// made as it is.
//
// The error matches [ErrUntrusted] or [ErrNoAuthorization], is a [*ServerError] or
// an [*mcp.SignInError], says that the transport is closed or what else kept it from
// a token, or is that of Options.Transport.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin(req.URL) != origin(t.server) || req.Header.Get("Authorization") != "" {
		return t.base.RoundTrip(req)
	}
	s, err := t.ready(req.Context())
	if err != nil {
		closeBody(req)
		return nil, err
	}
	e := &attempts{t: t, req: req}
	for {
		resp, err := e.send(s)
		if err != nil {
			return nil, err
		}
		next, err := e.react(resp, s)
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

// maxSends bounds the attempts of one request, whatever servers answer.
const maxSends = 10

// attempts are the attempts of one request.
type attempts struct {
	t         *Transport
	req       *http.Request
	sent      int
	nonces    int
	stepUps   int
	refreshed bool // a refreshed or stored token was tried
	fresh     bool // an acquired token was tried
}

// send makes the request with the token of s, or without one.
func (e *attempts) send(s *session) (*http.Response, error) {
	req := e.req.Clone(e.req.Context())
	if e.sent > 0 && req.Body != nil && req.Body != http.NoBody {
		body, err := e.req.GetBody()
		if err != nil {
			return nil, fmt.Errorf("repeat the request with a new token: %w", err)
		}
		req.Body = body
	}
	e.sent++
	if s != nil && s.token != nil {
		req.Header.Set("Authorization", s.token.Type+" "+s.token.Access)
		if s.token.Type == "DPoP" {
			proof, err := e.t.dpop.proof(req.Method, req.URL.String(), s.token.Access, nil)
			if err != nil {
				closeBody(req)
				return nil, err
			}
			req.Header.Set("Dpop", proof)
		}
	}
	resp, err := e.t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Request = e.req
	return resp, nil
}

// repeatable reports whether the body can be sent again.
func (e *attempts) repeatable() bool {
	return e.req.Body == nil || e.req.Body == http.NoBody || e.req.GetBody != nil
}

// react returns the session for another attempt, or nil to pass the response
// on.
func (e *attempts) react(resp *http.Response, s *session) (*session, error) {
	newNonce := e.t.dpop.keepNonce(e.req.URL.String(), resp.Header)
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden || !e.repeatable() {
		return nil, nil
	}
	if e.req.Method == http.MethodDelete || e.sent >= maxSends {
		return nil, nil // the end of a session is not worth a sign-in
	}
	d, ours := demandOf(resp.Header, e.t.dpop != nil)
	switch {
	case !ours:
		return nil, nil // another kind of authentication
	case d.code == "use_dpop_nonce" && s != nil:
		if !newNonce || e.nonces > 0 {
			return nil, nil
		}
		e.nonces++
		return s, nil
	case d.scheme == "dpop" && e.t.dpop == nil:
		return nil, fmt.Errorf("%s demands tokens that are bound to a key: set Options.DPoP", e.t.shown)
	case resp.StatusCode == http.StatusForbidden:
		return e.stepUp(d, s)
	}
	return e.renew(d, s)
}

// renew answers a 401: by a stored token, then by a refresh, then by a newly
// acquired token, and then not at all.
func (e *attempts) renew(d *demand, s *session) (*session, error) {
	if e.fresh {
		return nil, fmt.Errorf("%s refuses the token that authorization server %s has just given for it (%q): "+
			"the two servers do not agree; their operators must look at it", e.t.shown, shown(s.site.issuer()), cut(d.code))
	}
	next, err := e.t.renew(e.req.Context(), &renewal{demand: d, used: s, anew: e.refreshed})
	if err != nil {
		return nil, err
	}
	e.fresh, e.refreshed = next.fresh, e.refreshed || !next.fresh
	return next, nil
}

// stepUp answers a 403 that asks for more scopes.
func (e *attempts) stepUp(d *demand, s *session) (*session, error) {
	// Servers of the official Go SDK name the scopes, but not the error.
	if d.code != "insufficient_scope" && (d.code != "" || len(d.scopes) == 0) {
		return nil, nil
	}
	if s != nil && covers(union(s.token.Granted, s.token.Requested), d.scopes) {
		// Another request may have asked for them meanwhile.
		if now := e.t.sessions.now(); now != nil && now != s && now.token.Access != s.token.Access && e.stepUps < maxStepUps {
			e.stepUps++
			return now, nil
		}
		return nil, &ServerError{Issuer: e.t.shown, Code: codeScope, scopes: d.scopes}
	}
	if e.stepUps++; e.stepUps > maxStepUps {
		return nil, fmt.Errorf("%s demands ever more scopes: gave up after %d times", e.t.shown, maxStepUps)
	}
	return e.t.renew(e.req.Context(), &renewal{demand: d, used: s, anew: true, stepUp: true})
}

// SignIn gets a token before the first request, for example for a "connect"
// button. It does nothing if a valid token is stored, or the server demands
// none. It may wait for a person, and returns early when ctx ends. The errors are those of
// RoundTrip.
func (t *Transport) SignIn(ctx context.Context) error {
	s, err := t.ready(ctx)
	if err != nil || s != nil && !s.token.expired(time.Now(), s.token.last()) {
		return err
	}
	needed, d, err := t.ask(ctx)
	if err != nil || !needed {
		return err
	}
	_, err = t.renew(ctx, &renewal{demand: d, used: s})
	return err
}

// SignOut forgets the token and the client's registration. It does not tell the
// authorization server. A sign-in or renewal that is under way is cancelled; other
// transports with the same store use their token until they need a new one.
func (t *Transport) SignOut(ctx context.Context) error {
	release, err := t.sessions.clear(ctx)
	if err != nil {
		return err
	}
	defer release()
	s, err := t.stored(ctx)
	if err != nil {
		return err
	}
	errs := []error{save(ctx, t.opts.Store, t.linkKey(), nil)}
	if s != nil {
		errs = append(errs,
			save(ctx, t.opts.Store, t.tokenKey(s.Resource, s.Issuer), nil),
			save(ctx, t.opts.Store, t.registrar.key(s.Issuer), nil))
	}
	return errors.Join(errs...)
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
