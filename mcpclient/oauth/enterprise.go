package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Enterprise lets the company's identity provider vouch for a person after a sign-in there: the
// extension io.modelcontextprotocol/enterprise-managed-authorization. The provider exchanges the
// token of that sign-in for an assertion (RFC 8693), and the server's authorization server accepts
// the assertion in exchange for a token (RFC 7523). The person does not visit that server.
type Enterprise struct {
	// TokenEndpoint is the URL of the provider to exchange tokens. It comes from the company's
	// configuration, and must be https, or http on this machine. Required.
	TokenEndpoint string

	// Client identifies this program at the provider. Its Issuer is the provider's. Required.
	Client Credentials

	// SubjectToken returns the ID token of the person's sign-in. It is called for every exchange. Required.
	SubjectToken func(ctx context.Context) (string, error)

	// Clients are registered with the authorization servers of MCP servers. Required.
	Clients []Credentials
}

const (
	tokenTypeID        = "urn:ietf:params:oauth:token-type:id_token"
	tokenTypeIDJAG     = "urn:ietf:params:oauth:token-type:id-jag"
	grantTokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	grantJWTBearer     = "urn:ietf:params:oauth:grant-type:jwt-bearer"
)

func (g *Enterprise) flow() (flow, error) {
	u, err := url.Parse(g.TokenEndpoint)
	switch {
	case err != nil || u.Host == "" || !isConfidential(u):
		return nil, fmt.Errorf("Enterprise.TokenEndpoint %q: want an https URL", safeURL(g.TokenEndpoint))
	case g.SubjectToken == nil:
		return nil, errors.New("Enterprise.SubjectToken is nil")
	case len(g.Clients) == 0:
		return nil, errors.New("Enterprise.Clients is empty: name the client at the authorization server of the MCP server")
	}
	if err := g.Client.check(); err != nil {
		return nil, fmt.Errorf("Enterprise.Client: %w", err)
	}
	if err := checkAll(g.Clients); err != nil {
		return nil, err
	}
	return &enterpriseFlow{registeredFlow: registeredFlow{slices.Clone(g.Clients)}, provider: *g}, nil
}

type enterpriseFlow struct {
	registeredFlow
	provider Enterprise
}

// acquire gets a new assertion each time, as an assertion can be used once.
func (f *enterpriseFlow) acquire(ctx context.Context, t *Transport, s *site, scopes []string) (*token, error) {
	assertion, err := f.exchange(ctx, t, s, scopes)
	if err != nil {
		return nil, err
	}
	return t.grant(ctx, s, scopes, &tokenRequest{
		doing: "get a token for the identity provider's assertion", client: f.configuredClient(s), scopes: scopes,
		form: url.Values{"grant_type": {grantJWTBearer}, "assertion": {assertion}},
	})
}

// exchange gets the assertion (ID-JAG) for one MCP server from the provider.
func (f *enterpriseFlow) exchange(ctx context.Context, t *Transport, s *site, scopes []string) (string, error) {
	const doing = "exchange the person's token at the identity provider"
	subject, err := f.provider.SubjectToken(ctx)
	if err != nil {
		return "", fmt.Errorf("get the person's token: %w", err)
	}
	form := url.Values{
		"grant_type": {grantTokenExchange}, "requested_token_type": {tokenTypeIDJAG},
		"audience": {s.issuer()}, "resource": {s.resource},
		"subject_token": {subject}, "subject_token_type": {tokenTypeID},
	}
	got, err := t.requestToken(ctx, &tokenRequest{
		doing:      doing,
		client:     &f.provider.Client,
		form:       form,
		scopes:     scopes,
		configured: true,
		meta:       &issuerMetadata{Issuer: f.provider.Client.Issuer, TokenEndpoint: f.provider.TokenEndpoint},
	})
	if err != nil {
		return "", err
	}
	if !got.isAssertion() {
		return "", fmt.Errorf("%s: the answer is not an assertion for an authorization server (want issued_token_type %s)",
			doing, tokenTypeIDJAG)
	}
	return got.AccessToken, nil
}

// isAssertion reports whether an answer is an ID-JAG. Its token type says that it is not an access token: "N_A".
func (a *tokenAnswer) isAssertion() bool {
	isIDJAG := a.IssuedTokenType == tokenTypeIDJAG && strings.EqualFold(a.TokenType, "N_A")
	return isIDJAG && a.AccessToken != "" && len(a.AccessToken) <= maxToken
}
