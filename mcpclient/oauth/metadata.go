package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// issuerMetadata is an authorization server's description of itself (RFC 8414, OpenID
// Connect Discovery), with the fields used here.
type issuerMetadata struct {
	Issuer                                 string   `json:"issuer"`
	AuthorizationEndpoint                  string   `json:"authorization_endpoint"`
	TokenEndpoint                          string   `json:"token_endpoint"`
	RegistrationEndpoint                   string   `json:"registration_endpoint"`
	ScopesSupported                        []string `json:"scopes_supported"`
	GrantTypesSupported                    []string `json:"grant_types_supported"`
	CodeChallengeMethodsSupported          []string `json:"code_challenge_methods_supported"`
	TokenEndpointAuthMethodsSupported      []string `json:"token_endpoint_auth_methods_supported"`
	TokenEndpointAuthSigningAlgs           []string `json:"token_endpoint_auth_signing_alg_values_supported"`
	DPoPSigningAlgs                        []string `json:"dpop_signing_alg_values_supported"`
	ClientIDMetadataDocumentSupported      bool     `json:"client_id_metadata_document_supported"`
	AuthorizationResponseIssuerIsSupported bool     `json:"authorization_response_iss_parameter_supported"`

	assumed bool // there was no such document, and the paths are the defaults of revision 2025-03-26
}

// metadataURLs lists the possible URLs of an issuer's metadata, in order.
//
// 2026-07-28 authorization server discovery: for issuers with a path, OAuth with path insertion,
// OpenID with path insertion, OpenID with path appending; without a path, OAuth, then OpenID.
func metadataURLs(issuer *url.URL) []string {
	const oauthPath, openidPath = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	path := strings.TrimRight(issuer.EscapedPath(), "/")
	if path == "" {
		return []string{atOrigin(issuer, oauthPath), atOrigin(issuer, openidPath)}
	}
	return []string{atOrigin(issuer, oauthPath+path), atOrigin(issuer, openidPath+path), atOrigin(issuer, path+openidPath)}
}

// atOrigin returns the URL of an escaped path at the origin of u.
func atOrigin(u *url.URL, path string) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String() + path
}

// fetchMetadata finds and checks the metadata of an issuer. It tries the next URL after any failure
// but an ErrUntrusted and the end of ctx.
func (f *fetcher) fetchMetadata(ctx context.Context, issuer string) (*issuerMetadata, error) {
	u, err := f.guard.checkURL("issuer", issuer)
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" {
		return nil, untrustedError("issuer %s has a query", safeURL(issuer))
	}
	var misses error
	for _, raw := range metadataURLs(u) {
		m, err := f.metadataAt(ctx, raw, nil, issuer)
		if err == nil {
			err = m.checkEndpoints(f.guard)
		}
		switch {
		case err == nil:
			return m, nil
		case errors.Is(err, ErrUntrusted) || ctx.Err() != nil:
			return nil, err
		}
		misses = join(misses, err)
	}
	return nil, fmt.Errorf("no usable metadata of authorization server %s: %w", safeURL(issuer), misses)
}

// metadataAt fetches metadata, which must be of one of the issuers.
func (f *fetcher) metadataAt(ctx context.Context, raw string, header http.Header, issuers ...string) (*issuerMetadata, error) {
	m := new(issuerMetadata)
	if err := f.getJSON(ctx, "authorization server metadata", raw, header, m); err != nil {
		return nil, err
	}
	// 2026-07-28 authorization: "MUST NOT use the metadata if they differ".
	if !slices.Contains(issuers, m.Issuer) {
		note := ""
		if slices.ContainsFunc(issuers, func(issuer string) bool { return safeURL(issuer) == safeURL(m.Issuer) }) {
			note = " (they differ in a part that is not shown)"
		}
		return nil, untrustedError("the metadata at %s is from issuer %q, want exactly %q%s",
			safeURL(raw), safeURL(m.Issuer), safeURLs(issuers), note)
	}
	return m, nil
}

// checkEndpoints refuses metadata with a forbidden URL, or without a token endpoint.
func (m *issuerMetadata) checkEndpoints(g *guard) error {
	for _, e := range []struct{ what, url string }{
		{"authorization endpoint", m.AuthorizationEndpoint},
		{"token endpoint", m.TokenEndpoint},
		{"registration endpoint", m.RegistrationEndpoint},
	} {
		if e.url == "" {
			continue
		}
		if _, err := g.checkURL(e.what, e.url); err != nil {
			return err
		}
	}
	if m.TokenEndpoint == "" {
		return fmt.Errorf("authorization server %s names no token endpoint", safeURL(m.Issuer))
	}
	return nil
}

// checkCodeFlow refuses a server at which a person cannot sign in, or that does not protect the code.
func (m *issuerMetadata) checkCodeFlow() error {
	if m.AuthorizationEndpoint == "" {
		return fmt.Errorf("authorization server %s names no authorization endpoint: a person cannot sign in there", safeURL(m.Issuer))
	}
	// 2026-07-28 authorization: without code_challenge_methods_supported "clients MUST refuse to proceed".
	if !m.assumed && !slices.Contains(m.CodeChallengeMethodsSupported, "S256") {
		return untrustedError("authorization server %s does not say that it supports PKCE with S256 "+
			"(code_challenge_methods_supported)", safeURL(m.Issuer))
	}
	return nil
}
