package oauth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync/atomic"
)

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
