package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// ClientMetadata describes a client: for dynamic registration (RFC 7591), or as a
// client id metadata document. The document is its JSON; ClientID is the URL of
// the document.
type ClientMetadata struct {
	ClientID                string   `json:"client_id,omitempty"`
	ClientName              string   `json:"client_name,omitempty"`
	ClientURI               string   `json:"client_uri,omitempty"`
	LogoURI                 string   `json:"logo_uri,omitempty"`
	Contacts                []string `json:"contacts,omitempty"`
	SoftwareID              string   `json:"software_id,omitempty"`
	SoftwareVersion         string   `json:"software_version,omitempty"`
	RedirectURIs            []string `json:"redirect_uris,omitempty"`
	GrantTypes              []string `json:"grant_types,omitempty"`
	ResponseTypes           []string `json:"response_types,omitempty"`
	TokenEndpointAuthMethod string   `json:"token_endpoint_auth_method,omitempty"`
	ApplicationType         string   `json:"application_type,omitempty"`
	Scope                   string   `json:"scope,omitempty"`
	JWKSURI                 string   `json:"jwks_uri,omitempty"`
	DPoPBoundAccessTokens   bool     `json:"dpop_bound_access_tokens,omitempty"`
}

// registration is a dynamically registered client.
type registration struct {
	ID          string     `json:"client_id"`
	Secret      string     `json:"client_secret,omitempty"`
	Method      AuthMethod `json:"token_endpoint_auth_method,omitempty"`
	RedirectURI string     `json:"redirect_uri"`
	Expiry      time.Time  `json:"expiry,omitzero"`
}

func (r *registration) credentials(issuer string) *Credentials {
	return &Credentials{Issuer: issuer, ID: r.ID, Secret: r.Secret, Method: r.Method}
}

func (t *Transport) registrationKey(issuer string) Key {
	return Key{Profile: t.opts.Profile, Issuer: issuer}
}

// registered returns the registration with an issuer, or nil.
func (t *Transport) registered(ctx context.Context, issuer string) (*registration, error) {
	r := new(registration)
	ok, err := load(ctx, t.opts.Store, t.registrationKey(issuer), r)
	if err != nil || !ok || r.ID == "" || !r.Expiry.IsZero() && !time.Now().Before(r.Expiry) {
		return nil, err
	}
	return r, nil
}

// register returns the registration for a redirect URI, and makes one if there
// is none.
func (t *Transport) register(ctx context.Context, s *site, want *ClientMetadata, redirectURI string) (*registration, error) {
	var result *registration
	err := t.opts.Store.Update(ctx, t.registrationKey(s.issuer()), func(ctx context.Context, old []byte) ([]byte, error) {
		r := new(registration)
		if decodeEntry(old, r) && r.ID != "" && r.RedirectURI == redirectURI && (r.Expiry.IsZero() || time.Now().Before(r.Expiry)) {
			result = r
			return old, nil
		}
		var err error
		if result, err = t.requestRegistration(ctx, s, want, redirectURI); err != nil {
			return nil, err
		}
		return json.Marshal(result)
	})
	return result, err
}

// requestRegistration registers the client (RFC 7591).
func (t *Transport) requestRegistration(ctx context.Context, s *site, want *ClientMetadata, redirectURI string) (*registration, error) {
	const doing = "register the client"
	body, err := json.Marshal(t.describe(want, s.meta, redirectURI))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	a, err := t.fetch.post(ctx, "registration endpoint", s.meta.RegistrationEndpoint, header, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	if a.status != http.StatusCreated && a.status != http.StatusOK {
		return nil, a.serverError(doing, s.issuer())
	}
	var got struct {
		ID      string     `json:"client_id"`
		Secret  string     `json:"client_secret"`
		Expires float64    `json:"client_secret_expires_at"`
		Method  AuthMethod `json:"token_endpoint_auth_method"`
	}
	if err := a.decode(&got); err != nil || got.ID == "" || len(got.ID) > maxToken || len(got.Secret) > maxToken {
		return nil, fmt.Errorf("%s: POST %s: the answer has no client_id that can be used", doing, shown(s.meta.RegistrationEndpoint))
	}
	r := &registration{ID: got.ID, Secret: got.Secret, Method: got.Method, RedirectURI: redirectURI}
	if got.Expires > 0 && got.Expires < 1e11 {
		r.Expiry = time.Unix(int64(got.Expires), 0)
	}
	t.log.Debug("registered with an authorization server", "issuer", shown(s.issuer()))
	return r, nil
}

// describe completes the client's metadata.
func (t *Transport) describe(want *ClientMetadata, m *issuerMetadata, redirectURI string) *ClientMetadata {
	var d ClientMetadata
	if want != nil {
		d = *want
	}
	if d.ClientName == "" {
		d.ClientName = "mcpchain"
	}
	d.ClientID, d.RedirectURIs = "", []string{redirectURI}
	if len(d.GrantTypes) == 0 {
		d.GrantTypes = []string{"authorization_code", "refresh_token"}
	}
	if len(d.ResponseTypes) == 0 {
		d.ResponseTypes = []string{"code"}
	}
	if d.TokenEndpointAuthMethod == "" {
		d.TokenEndpointAuthMethod = string(methodToRegister(m))
	}
	if d.ApplicationType == "" {
		d.ApplicationType = applicationType(redirectURI)
	}
	d.DPoPBoundAccessTokens = d.DPoPBoundAccessTokens || t.opts.DPoP != nil && t.opts.DPoP.Require
	return &d
}

// methodToRegister is the authentication of a client without a key of its own.
func methodToRegister(m *issuerMetadata) AuthMethod {
	for _, method := range []AuthMethod{AuthNone, AuthBasic, AuthPost} {
		if slices.Contains(m.TokenEndpointAuthMethodsSupported, string(method)) {
			return method
		}
	}
	return AuthNone
}

// applicationType is native for a program on a person's machine, web for a
// program on a server (OpenID Connect registration; required since 2026-07-28).
func applicationType(redirectURI string) string {
	if u, err := url.Parse(redirectURI); err == nil && u.Scheme == "https" && !isLoopback(u.Hostname()) {
		return "web"
	}
	return "native"
}

// forgetRegistration drops a registration that the server has forgotten, so
// that the next attempt registers again.
func (t *Transport) forgetRegistration(ctx context.Context, issuer string, err error) {
	if refused, ok := errors.AsType[*ServerError](err); ok && refused.Code == "invalid_client" {
		if err := save(ctx, t.opts.Store, t.registrationKey(issuer), nil); err != nil {
			t.log.Warn("a registration that is not valid any more stays in the store", "error", err)
		}
	}
}
