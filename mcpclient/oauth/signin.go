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
	state       string
	verifier    string
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

// exchange exchanges the code of an answer for a token.
func (s *signIn) exchange(ctx context.Context, t *Transport, answer url.Values) (*token, error) {
	code, err := s.code(answer)
	if err != nil {
		return nil, err
	}
	return t.grant(ctx, s.site, s.scopes, &tokenRequest{
		doing: "exchange the code for a token", client: s.client,
		form: codeForm(code, s.redirectURI, s.verifier),
	})
}

// codeForm returns the form of a token request with a code.
func codeForm(code, redirectURI, verifier string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirectURI}, "code_verifier": {verifier}}
}

// code returns the code of an answer. It uses and quotes an answer only after checkSender has shown
// that it comes from the right server.
func (s *signIn) code(answer url.Values) (string, error) {
	if err := s.checkSender(answer); err != nil {
		return "", err
	}
	code := answer.Get("code")
	switch {
	case answer.Has("error"):
		return "", &ServerError{
			doing: "sign in", Issuer: safeURL(s.site.issuer()),
			Code:        scrub(answer.Get("error"), s.state, s.verifier, code),
			description: scrub(answer.Get("error_description"), s.state, s.verifier, code),
		}
	case code == "":
		return "", untrustedError("the answer of the sign-in has no code")
	case len(code) > maxToken:
		return "", untrustedError("the code in the answer of the sign-in has %d bytes, want at most %d", len(code), maxToken)
	}
	return code, nil
}

// checkSender checks state and issuer of an answer. RFC 9207: iss is compared byte by byte, even if
// the metadata does not announce it. It may be missing only then.
func (s *signIn) checkSender(answer url.Values) error {
	for _, values := range answer {
		if len(values) > 1 {
			return untrustedError("the answer of the sign-in has a parameter twice")
		}
	}
	issuer := s.site.issuer()
	switch {
	case answer.Get("state") != s.state:
		return untrustedError("the answer of the sign-in has another state than the request: it belongs to another sign-in")
	case answer.Has("iss") && answer.Get("iss") != issuer:
		return untrustedError("the answer of the sign-in comes from another issuer than %s", safeURL(issuer))
	case !answer.Has("iss") && s.site.meta.AuthorizationResponseIssuerIsSupported:
		return untrustedError("the answer of the sign-in does not name its issuer, which %s promises in its metadata", safeURL(issuer))
	}
	return nil
}
