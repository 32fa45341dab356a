package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"
)

// AuthorizationCode lets a person sign in with a browser: the authorization
// code grant with PKCE (RFC 7636, method S256), for the server as the resource (RFC 8707).
//
// The client's identity is the first of these: the entry of Clients for the authorization server;
// Client; Document, if the server accepts such ids; dynamic registration, if the server offers it.
type AuthorizationCode struct {
	// Receiver sends the person to the authorization server and receives the redirect back. Required.
	Receiver Receiver

	// Clients are registered by hand, each with one authorization server. If there are some, a server with another
	// authorization server is refused, unless Client, Document or RegisterAs is set, too.
	Clients []Credentials

	// Client is registered by hand with the authorization server of this MCP server. Its Issuer is left empty: any
	// authorization server is accepted. Its secret goes to the one that the MCP server names.
	Client *Credentials

	// Document is the client of a client id metadata document: its ID is the document's URL, and
	// the document must list the receiver's redirect URI. The Issuer is left empty.
	Document *Credentials

	// RegisterAs is the name of this program for dynamic registration. Default: "mcpchain", and no
	// registration if Clients or Client is set.
	RegisterAs string
}

func (g *AuthorizationCode) flow() (flow, error) {
	if g.Receiver == nil {
		return nil, errors.New("AuthorizationCode.Receiver is nil: set it, for example to Loopback(open, 0)")
	}
	if err := checkAll(g.Clients); err != nil {
		return nil, err
	}
	f := &codeFlow{AuthorizationCode: *g}
	f.Clients = slices.Clone(g.Clients)
	var err error
	if f.Client, err = copyUnbound("AuthorizationCode.Client", g.Client); err != nil {
		return nil, err
	}
	if f.Document, err = copyUnbound("AuthorizationCode.Document", g.Document); err != nil {
		return nil, err
	}
	if d := f.Document; d != nil && !isDocumentURL(d.ID) {
		return nil, fmt.Errorf("AuthorizationCode.Document.ID %q: want the https URL of the document, with a path", safeURL(d.ID))
	}
	return f, nil
}

// copyUnbound checks and copies credentials without an issuer. It returns nil for nil.
func copyUnbound(field string, c *Credentials) (*Credentials, error) {
	if c == nil {
		return nil, nil
	}
	if c.Issuer != "" {
		return nil, fmt.Errorf("%s %q has an Issuer: put it into Clients", field, safeURL(c.ID))
	}
	if err := c.checkIdentity(); err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	own := *c
	return &own, nil
}

// isDocumentURL reports whether an id can be that of a client id metadata document: an https URL with a path.
func isDocumentURL(id string) bool {
	u, err := url.Parse(id)
	return err == nil && u.Scheme == "https" && u.Host != "" && strings.Trim(u.Path, "/") != "" && u.Fragment == "" && u.User == nil
}

type codeFlow struct {
	AuthorizationCode
}

func (f *codeFlow) interactive() bool { return true }

// choose returns an issuer for which Clients has credentials, by preference the current one. Without
// Clients, or if none fits and another identity is configured, it returns the current or the first.
func (f *codeFlow) choose(issuers []string, current string) (string, error) {
	if len(f.Clients) > 0 {
		issuer, err := chooseRegistered(f.Clients, issuers, current)
		if err == nil || f.Client == nil && f.Document == nil && f.RegisterAs == "" {
			return issuer, err
		}
	}
	if slices.Contains(issuers, current) {
		return current, nil
	}
	return issuers[0], nil
}

// configuredClient returns the configured client to use at the site's authorization server, nil if there is none.
func (f *codeFlow) configuredClient(s *site) *Credentials {
	if c := credentialsFor(f.Clients, s.issuer()); c != nil {
		return c
	}
	c := f.Client
	if c == nil && s.meta.ClientIDMetadataDocumentSupported {
		c = f.Document
	}
	if c == nil {
		return nil
	}
	own := *c
	own.Issuer = s.issuer()
	return &own
}

// identify returns the configured client for a sign-in, or registers one.
func (f *codeFlow) identify(ctx context.Context, t *Transport, s *site, redirectURI string) (*Credentials, error) {
	if c := f.configuredClient(s); c != nil {
		return c, nil
	}
	if s.meta.RegistrationEndpoint == "" || f.RegisterAs == "" && len(f.Clients) > 0 {
		return nil, fmt.Errorf("authorization server %s knows no client of this program: register one there by hand, "+
			"with the redirect URI %s, and put it into AuthorizationCode.Clients, or with clientId and callbackPort into \"oauth\" of an mcp.json",
			safeURL(s.issuer()), safeURL(redirectURI))
	}
	r, err := t.registrar.registerOnce(ctx, s, f.RegisterAs, redirectURI)
	if err != nil {
		return nil, err
	}
	return r.credentials(s.issuer()), nil
}

// acquire lets the person sign in.
func (f *codeFlow) acquire(ctx context.Context, t *Transport, s *site, scopes []string) (*token, error) {
	if err := s.meta.checkCodeFlow(); err != nil {
		return nil, err
	}
	previous := "" // even if the store fails: then the client registers again
	if r, err := t.registrar.stored(ctx, s.issuer()); err == nil && r != nil {
		previous = r.RedirectURI
	}
	signIn, answer, err := f.signIn(ctx, t, s, scopes, previous)
	if err != nil {
		return nil, err
	}
	got, err := signIn.exchange(ctx, t, answer)
	if err != nil {
		t.registrar.removeUnknown(ctx, signIn.client, err)
	}
	return got, err
}

// signIn sends the person to the authorization server, and returns the request and its answer.
func (f *codeFlow) signIn(
	ctx context.Context, t *Transport, s *site, scopes []string, previous string,
) (request *signIn, answer url.Values, err error) {
	limited, cancel := context.WithTimeout(ctx, signInTimeout)
	defer cancel()
	var refused error // of the client's registration
	answer, err = f.Receiver.Receive(limited, previous, func(redirectURI string) (string, error) {
		client, err := f.identify(ctx, t, s, redirectURI)
		if err != nil {
			refused = err
			return "", err
		}
		request = &signIn{
			site: s, client: client, redirectURI: redirectURI, scopes: withOffline(scopes, s.meta),
			state: rand.Text(), verifier: oauth2.GenerateVerifier(),
		}
		t.log.Debug("a person signs in", "issuer", safeURL(s.issuer()), "scopes", request.scopes)
		return request.url(), nil
	})
	switch {
	case refused != nil:
		return nil, nil, refused
	case err == nil && request != nil:
		return request, answer, nil
	case request == nil:
		return nil, nil, fmt.Errorf("prepare to receive the answer of a sign-in: %w", cmp.Or(err, errNotAuthorized))
	case limited.Err() != nil && ctx.Err() == nil:
		err = fmt.Errorf("person did not sign in within %v: %w", signInTimeout, err)
	default:
		err = fmt.Errorf("sign in with %s: %w", safeURL(s.issuer()), err)
	}
	t.registrar.markUnanswered(ctx, request.client, err)
	return nil, nil, err
}

// errNotAuthorized is the error of a [Receiver] that has an answer without a question.
var errNotAuthorized = errors.New("receiver did not ask for the URL to sign in at")

// signIn is one authorization request, until its code is exchanged.
type signIn struct {
	site        *site
	client      *Credentials
	redirectURI string
	scopes      []string
	state       string // the response must repeat it
	verifier    string // of PKCE (RFC 7636): it proves that the token request belongs to this sign-in
}

// url returns the URL of the authorization request.
func (s *signIn) url() string {
	config := oauth2.Config{
		ClientID: s.client.ID, RedirectURL: s.redirectURI, Scopes: s.scopes,
		Endpoint: oauth2.Endpoint{AuthURL: s.site.meta.AuthorizationEndpoint},
	}
	options := []oauth2.AuthCodeOption{
		oauth2.S256ChallengeOption(s.verifier), oauth2.SetAuthURLParam("resource", s.site.resource),
	}
	if slices.Contains(s.scopes, offlineAccess) {
		options = append(options, oauth2.SetAuthURLParam("prompt", "consent")) // OpenID Connect Core §11 wants it
	}
	return config.AuthCodeURL(s.state, options...)
}

// exchange exchanges the code of the authorization response for a token.
func (s *signIn) exchange(ctx context.Context, t *Transport, response url.Values) (*token, error) {
	code, err := s.code(response)
	if err != nil {
		return nil, err
	}
	return t.grant(ctx, s.site, s.scopes, &tokenRequest{
		doing: "exchange the code for a token", client: s.client,
		form: codeForm(code, s.redirectURI, s.verifier),
	})
}

// code returns the code of the authorization response. It uses and quotes the response only after checkSender has shown
// that it comes from the right server.
func (s *signIn) code(response url.Values) (string, error) {
	if err := s.checkSender(response); err != nil {
		return "", err
	}
	code := response.Get("code")
	switch {
	case response.Has("error"):
		return "", &ServerError{
			doing: "sign in", Issuer: safeURL(s.site.issuer()),
			Code:        scrub(response.Get("error"), s.state, s.verifier, code),
			description: scrub(response.Get("error_description"), s.state, s.verifier, code),
		}
	case code == "":
		return "", untrustedError("the authorization response has no code")
	case len(code) > maxToken:
		return "", untrustedError("the code in the authorization response has %d bytes, want at most %d", len(code), maxToken)
	}
	return code, nil
}

// checkSender checks state and issuer of the authorization response. Its errors quote nothing of the response, which anybody
// may have sent. RFC 9207: iss is compared byte by byte, even if the metadata does not announce it. It may be missing only then.
func (s *signIn) checkSender(response url.Values) error {
	for _, values := range response {
		if len(values) > 1 {
			return untrustedError("the authorization response has a parameter twice")
		}
	}
	issuer := s.site.issuer()
	switch {
	case response.Get("state") != s.state:
		return untrustedError("the authorization response has another state than the request: it belongs to another sign-in")
	case response.Has("iss") && response.Get("iss") != issuer:
		return untrustedError("the authorization response comes from another issuer than %s", safeURL(issuer))
	case !response.Has("iss") && s.site.meta.AuthorizationResponseIssuerIsSupported:
		return untrustedError("the authorization response names no issuer, although the metadata of %s promises it", safeURL(issuer))
	}
	return nil
}
