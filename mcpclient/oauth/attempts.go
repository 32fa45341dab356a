package oauth

import (
	"fmt"
	"net/http"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
)

// maxSends bounds how often one request is sent.
const maxSends = 10

// attempts are the attempts to send one request.
type attempts struct {
	transport    *Transport
	req          *http.Request
	sent         int
	stepUps      int  // tokens with more scopes that were tried
	triedNonce   bool // a nonce of the server was tried, for the DPoP proof
	triedRefresh bool // a refreshed or stored token was tried
	acquired     bool // a newly acquired token was tried
}

// run makes the request with the token of s, or without one if s is nil, and again with other tokens
// as the server demands them. It returns the last response.
func (a *attempts) run(s *session) (*http.Response, error) {
	for {
		resp, err := a.send(s)
		if err != nil {
			return nil, err
		}
		next, err := a.nextSession(resp, s)
		if err == nil && next == nil {
			return resp, nil
		}
		bound.ReadBody(resp.Body, maxRefusal, discardTime)
		if err != nil {
			return nil, err
		}
		s = next
	}
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
		if err := a.transport.authorize(req, s.token); err != nil {
			closeBody(req)
			return nil, err
		}
	}
	resp, err := a.transport.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Request = a.req
	return resp, nil
}

// authorize sets the headers of a request with a token.
func (t *Transport) authorize(req *http.Request, tok *token) error {
	req.Header.Set("Authorization", tok.Type+" "+tok.Access)
	if tok.Type != "DPoP" {
		return nil
	}
	var algorithms []string
	if tok.ProofAlg != "" {
		algorithms = []string{tok.ProofAlg}
	}
	proof, err := t.dpop.proof(req.Method, req.URL.String(), tok.Access, algorithms)
	if err != nil {
		return err
	}
	req.Header.Set("Dpop", proof)
	return nil
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

// stepUp answers a 403 that asks for more scopes, with a new token. If the scopes were requested
// before, only a token that another request has got meanwhile can help; without one it is an error.
func (a *attempts) stepUp(d *demand, s *session) (*session, error) {
	// Servers of the official Go SDK name the scopes, but not the error.
	if d.code != "insufficient_scope" && (d.code != "" || len(d.scopes) == 0) {
		return nil, nil
	}
	if s != nil && s.token.wasAskedFor(d.scopes) {
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

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// Bounds of the body of a refusal, which is read so that the connection can be used again.
const (
	maxRefusal  = 4 << 10 // bytes
	discardTime = time.Second
)
