package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
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
