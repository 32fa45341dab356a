package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// tokenRequest is a request to a token endpoint.
type tokenRequest struct {
	doing  string // names the operation in errors
	meta   *issuerMetadata
	client *Credentials
	form   url.Values // lacks the scopes and the client's authentication
	scopes []string   // none: the server decides, or knows them from the authorization

	// configured is set if the configuration names the endpoint, not a server. Then it may be
	// anywhere, and gets no DPoP proof.
	configured bool
}

// codeForm returns the form of a token request with the code of a sign-in.
func codeForm(code, redirectURI, verifier string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirectURI}, "code_verifier": {verifier}}
}

type tokenAnswer struct {
	AccessToken     string          `json:"access_token"`
	TokenType       string          `json:"token_type"`
	IssuedTokenType string          `json:"issued_token_type"`
	RefreshToken    string          `json:"refresh_token"`
	ExpiresIn       json.RawMessage `json:"expires_in"` // a number; some servers send it as a string
	Scope           *string         `json:"scope"`
}

const maxToken = 64 << 10 // bytes of a token, a code or an id

// grant makes a request to the token endpoint of a site, and returns the token. scopes are those that the client has
// asked for, here or in the authorization, or the scopes of the token to refresh.
func (t *Transport) grant(ctx context.Context, s *site, scopes []string, r *tokenRequest) (*token, error) {
	r.meta = s.meta
	r.form.Set("resource", s.resource)
	got, err := t.requestToken(ctx, r)
	if err != nil {
		return nil, err
	}
	return t.newToken(got, s, r.client.ID, scopes)
}

// requestToken makes a request to a token endpoint. If the server wants a nonce in the DPoP proof,
// it makes the request once more. A failure that the server reports is a [*ServerError].
func (t *Transport) requestToken(ctx context.Context, r *tokenRequest) (*tokenAnswer, error) {
	for again := false; ; again = true {
		a, secrets, err := t.postToken(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.doing, err)
		}
		hasNonce := t.dpop.storeNonce(r.meta.TokenEndpoint, a.header)
		failure := a.serverError(r.doing, r.meta.Issuer, secrets...)
		switch {
		case !again && failure.Code == "use_dpop_nonce" && hasNonce:
			continue
		case a.status != http.StatusOK || failure.Code != "":
			return nil, failure
		}
		got := new(tokenAnswer)
		if err := a.decode(got); err != nil {
			return nil, fmt.Errorf("%s: POST %s: %w", r.doing, safeURL(r.meta.TokenEndpoint), err)
		}
		return got, nil
	}
}

// postToken makes the request once. It also returns the request's secrets, to remove them from errors.
func (t *Transport) postToken(ctx context.Context, r *tokenRequest) (a *answer, secrets []string, err error) {
	form := maps.Clone(r.form)
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	if len(r.scopes) > 0 {
		form.Set("scope", strings.Join(r.scopes, " "))
	}
	if err := r.client.authenticate(form, header, r.meta); err != nil {
		return nil, nil, err
	}
	fetch := t.fetch
	if r.configured {
		fetch = t.configured
	}
	if t.dpop != nil && !r.configured {
		proof, err := t.dpop.proof(http.MethodPost, r.meta.TokenEndpoint, "", r.meta.DPoPSigningAlgs)
		if err != nil {
			return nil, nil, err
		}
		header["Dpop"] = []string{proof}
	}
	a, err = fetch.post(ctx, "token endpoint", r.meta.TokenEndpoint, header, []byte(form.Encode()))
	if err != nil {
		return nil, nil, err
	}
	return a, requestSecrets(form, header, r), nil
}

// requestSecrets returns the secrets of a request, each also as it is encoded in the form or the header.
func requestSecrets(form url.Values, header http.Header, r *tokenRequest) []string {
	secrets := []string{header.Get("Dpop")}
	if _, credentials, ok := strings.Cut(header.Get("Authorization"), " "); ok {
		secrets = append(secrets, credentials, url.QueryEscape(r.client.Secret), r.client.Secret)
	}
	for _, name := range secretKeys {
		if v := form.Get(name); v != "" {
			secrets = append(secrets, url.QueryEscape(v), v)
		}
	}
	return secrets
}

// secretKeys are the keys of token requests whose values are secret.
var secretKeys = []string{
	"assertion", "client_assertion", "client_secret", "code", "code_verifier", "refresh_token", "subject_token",
}

// newToken checks an answer, and makes a token of it. It refuses one that cannot be sent in a
// header or is of another type than Bearer and DPoP, a bearer token if Options.RequireDPoP is set, and a
// DPoP token without Options.DPoP. If the answer names no scopes, the token has those requested.
func (t *Transport) newToken(got *tokenAnswer, s *site, client string, requested []string) (*token, error) {
	now := time.Now()
	tok := &token{
		Access: got.AccessToken, Refresh: got.RefreshToken, ClientID: client,
		Issued: now, Requested: requested, Granted: requested,
	}
	where := safeURL(s.meta.TokenEndpoint)
	if !isSendable(tok.Access) || len(tok.Refresh) > maxToken {
		return nil, fmt.Errorf("%s gave no token that can be sent (want 1 to %d visible characters)", where, maxToken)
	}
	switch strings.ToLower(got.TokenType) {
	case "bearer":
		tok.Type = "Bearer"
		if t.opts.RequireDPoP {
			return nil, untrustedError("%s gave a token that is not bound to the DPoP key, which Options.RequireDPoP demands", where)
		}
	case "dpop":
		if t.opts.DPoP == nil {
			return nil, fmt.Errorf("%s gave a token for DPoP: set Options.DPoP", where)
		}
		alg, err := algorithmFor(t.opts.DPoP, s.meta.DPoPSigningAlgs)
		if err != nil {
			return nil, fmt.Errorf("DPoP: %w", err)
		}
		tok.Type, tok.Thumbprint, tok.ProofAlg = "DPoP", t.dpop.thumbprint, alg.Alg()
	default:
		return nil, fmt.Errorf("%s gave a token of type %q, want Bearer or DPoP", where, cut(got.TokenType))
	}
	if got.Scope != nil {
		tok.Granted = splitScopes(*got.Scope)
	}
	life, err := lifetime(got.ExpiresIn)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	if life > 0 {
		tok.Expiry = now.Add(life)
	}
	return tok, nil
}

// isSendable reports whether a token can be sent in a header.
func isSendable(token string) bool {
	return token != "" && len(token) <= maxToken && strings.IndexFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) < 0
}

// lifetime decodes expires_in; zero means unknown.
func lifetime(raw json.RawMessage) (time.Duration, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0, nil
	}
	var seconds float64
	if err := json.Unmarshal([]byte(strings.Trim(string(raw), `"`)), &seconds); err != nil || seconds < 0 {
		return 0, errors.New("expires_in is not a number of seconds")
	}
	const longest = 10 * 365 * 24 * time.Hour
	return time.Duration(min(seconds, longest.Seconds())) * time.Second, nil
}
