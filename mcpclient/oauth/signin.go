package oauth

import (
	"context"
	"crypto/rand"
	"net/url"
	"slices"

	"golang.org/x/oauth2"
)

// signIn is one authorization request, until its code is exchanged.
type signIn struct {
	site        *site
	client      *Credentials
	redirectURI string
	scopes      []string
	state       string // the response must repeat it
	verifier    string // of PKCE (RFC 7636): it proves that the token request belongs to this sign-in
}

func newSignIn(s *site, client *Credentials, redirectURI string, scopes []string) *signIn {
	return &signIn{
		site: s, client: client, redirectURI: redirectURI, scopes: scopes,
		state: rand.Text(), verifier: oauth2.GenerateVerifier(),
	}
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
