package oauth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
)

// ClientCredentials lets a service sign in as itself: the extension io.modelcontextprotocol/oauth-client-credentials.
// The credentials have a secret, or a key for private_key_jwt, and are registered each with one authorization server.
type ClientCredentials []Credentials

func (g ClientCredentials) flow() (flow, error) {
	if len(g) == 0 {
		return nil, errors.New("ClientCredentials is empty")
	}
	if err := checkAll(g); err != nil {
		return nil, err
	}
	for _, c := range g {
		if c.Secret == "" && c.Key == nil {
			return nil, fmt.Errorf("client %q has neither a Secret nor a Key", c.ID)
		}
	}
	return &clientFlow{registeredFlow{slices.Clone(g)}}, nil
}

// registeredFlow is the common part of flows with registered credentials. choose returns only issuers
// that it has credentials for.
type registeredFlow struct{ clients []Credentials }

func (f *registeredFlow) interactive() bool { return false }

func (f *registeredFlow) choose(issuers []string, current string) (string, error) {
	return chooseRegistered(f.clients, issuers, current)
}

func (f *registeredFlow) configuredClient(s *site) *Credentials {
	return credentialsFor(f.clients, s.issuer())
}

type clientFlow struct{ registeredFlow }

func (f *clientFlow) acquire(ctx context.Context, t *Transport, s *site, scopes []string) (*token, error) {
	return t.grant(ctx, s, scopes, &tokenRequest{
		doing: "get a token for the service", client: f.configuredClient(s), scopes: scopes,
		form: url.Values{"grant_type": {"client_credentials"}},
	})
}

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

// Workload lets the platform of a program vouch for it: workload identity federation, by the grant
// of RFC 7523. It needs no registration; the authorization server trusts the platform's issuer.
type Workload struct {
	// Issuers are the authorization servers that may get the assertion. Required, as another server could misuse it.
	Issuers []string

	// Assertion returns the platform's signed statement (a JWT) of the program's identity, for an
	// authorization server: from a projected file, or a metadata service. The platform's
	// configuration sets the audience. It is called for every token. Required.
	Assertion func(ctx context.Context, issuer string) (string, error)

	// ClientID is the client's id at the authorization servers. Default: none is sent.
	ClientID string
}

func (g *Workload) flow() (flow, error) {
	if g.Assertion == nil || len(g.Issuers) == 0 {
		return nil, errors.New("Workload: Assertion and Issuers must be set")
	}
	return &workloadFlow{Workload: Workload{slices.Clone(g.Issuers), g.Assertion, g.ClientID}}, nil
}

type workloadFlow struct {
	Workload

	refused atomic.Value // hash of the last refused assertion with the issuer that refused it
}

func (f *workloadFlow) interactive() bool { return false }

func (f *workloadFlow) choose(issuers []string, current string) (string, error) {
	if issuer, ok := chooseIssuer(issuers, current, func(issuer string) bool { return slices.Contains(f.Issuers, issuer) }); ok {
		return issuer, nil
	}
	return "", untrustedError("the server names the authorization servers %q, Workload.Issuers are %q",
		safeURLs(issuers), safeURLs(f.Issuers))
}

func (f *workloadFlow) configuredClient(s *site) *Credentials {
	return &Credentials{Issuer: s.issuer(), ID: f.ClientID}
}

// acquire does not send the last refused assertion to the same issuer again: until the platform has
// another one, it fails without a request.
func (f *workloadFlow) acquire(ctx context.Context, t *Transport, s *site, scopes []string) (*token, error) {
	const doing = "get a token for the platform's assertion"
	assertion, err := f.Assertion(ctx, s.issuer())
	if err != nil {
		return nil, fmt.Errorf("get the platform's assertion: %w", err)
	}
	if !isSendable(assertion) {
		return nil, errors.New("platform's assertion is empty, or not a JWT")
	}
	sum := sha256.Sum256([]byte(s.issuer() + " " + assertion))
	if f.refused.Load() == sum {
		return nil, fmt.Errorf("%s: authorization server %s refused this very assertion before: it is not sent again",
			doing, safeURL(s.issuer()))
	}
	got, err := t.grant(ctx, s, scopes, &tokenRequest{
		doing: doing, client: f.configuredClient(s), scopes: scopes,
		form: url.Values{"grant_type": {grantJWTBearer}, "assertion": {assertion}},
	})
	if refused, ok := errors.AsType[*ServerError](err); ok && isFinal(refused.status) {
		f.refused.Store(sum)
	}
	return got, err
}
