package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpchain/mcpchain/internal/reach"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// clientMetadata describes a client for dynamic registration (RFC 7591).
type clientMetadata struct {
	ClientName              string   `json:"client_name"`
	RedirectURIs            []string `json:"redirect_uris"`
	GrantTypes              []string `json:"grant_types"`
	ResponseTypes           []string `json:"response_types"`
	TokenEndpointAuthMethod string   `json:"token_endpoint_auth_method"`
	ApplicationType         string   `json:"application_type"`
	DPoPBoundAccessTokens   bool     `json:"dpop_bound_access_tokens,omitempty"`
}

// registration is a client that was registered dynamically.
type registration struct {
	ID          string    `json:"client_id"`
	Secret      string    `json:"client_secret,omitempty"`
	Method      string    `json:"token_endpoint_auth_method,omitempty"`
	RedirectURI string    `json:"redirect_uri"`
	Expiry      time.Time `json:"expiry,omitzero"`

	// Unanswered reports whether the last sign-in ended without an answer: the server may have shown
	// the person that it does not know the client.
	Unanswered bool `json:"unanswered,omitempty"`
}

func (r *registration) credentials(issuer string) *Credentials {
	return &Credentials{Issuer: issuer, ID: r.ID, Secret: r.Secret, Method: r.Method}
}

// registrar registers a client with authorization servers, and stores the registrations.
type registrar struct {
	store        Store
	account      string // of the keys
	boundTokens  bool   // asks for tokens that are bound to a key
	fetch        *fetcher
	log          *slog.Logger
	requestToken func(context.Context, *tokenRequest) (*tokenAnswer, error)
}

func (g *registrar) key(issuer string) Key {
	return Key{Account: g.account, Issuer: issuer}
}

// stored returns the stored registration with an issuer, or nil.
func (g *registrar) stored(ctx context.Context, issuer string) (*registration, error) {
	r := new(registration)
	ok, err := load(ctx, g.store, g.key(issuer), r)
	if err != nil || !ok || !r.isUsable() {
		return nil, err
	}
	return r, nil
}

// isUsable reports whether the registration has an id and a supported method, and has not expired.
func (r *registration) isUsable() bool {
	return r.ID != "" && r.checkMethod() == nil && (r.Expiry.IsZero() || time.Now().Before(r.Expiry))
}

// checkMethod returns an error if the client cannot authenticate itself as registered: a server may choose another
// method than the requested one (RFC 7591 §3.2.1), and a registered client has no key.
func (r *registration) checkMethod() error {
	if err := r.credentials("").checkMethod(); err != nil {
		return fmt.Errorf("registration is unusable: %w: register a client by hand and set AuthorizationCode.Clients", err)
	}
	return nil
}

// registerOnce returns the registration for a redirect URI, and registers if none is stored.
// Another process that registers at the same time waits, and finds the registration in the store.
func (g *registrar) registerOnce(ctx context.Context, s *site, name, redirectURI string) (*registration, error) {
	var result *registration
	err := g.store.Update(ctx, g.key(s.issuer()), func(ctx context.Context, old []byte) (_ []byte, err error) {
		r := new(registration)
		usable := decodeEntry(old, r) && r.isUsable() && r.RedirectURI == redirectURI
		if usable && (!r.Unanswered || g.isKnown(ctx, s, r)) {
			r.Unanswered = false
		} else if r, err = g.register(ctx, s, name, redirectURI); err != nil {
			return nil, err
		}
		result = r
		return json.Marshal(r)
	})
	if err != nil {
		return nil, fmt.Errorf("client of this program at %s: %w", safeURL(s.issuer()), err)
	}
	return result, nil
}

// register registers the client (RFC 7591).
func (g *registrar) register(ctx context.Context, s *site, name, redirectURI string) (*registration, error) {
	const doing = "register the client"
	body, err := json.Marshal(&clientMetadata{
		ClientName:              cmp.Or(name, "mcpchain"),
		RedirectURIs:            []string{redirectURI},
		GrantTypes:              []string{"authorization_code", "refresh_token"},
		ResponseTypes:           []string{"code"},
		TokenEndpointAuthMethod: methodToRegister(s.meta),
		ApplicationType:         applicationType(redirectURI),
		DPoPBoundAccessTokens:   g.boundTokens,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	a, err := g.fetch.post(ctx, "registration endpoint", s.meta.RegistrationEndpoint, header, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	if a.status != http.StatusCreated && a.status != http.StatusOK {
		return nil, a.serverError(doing, s.issuer())
	}
	r, err := decodeRegistration(a)
	if err != nil {
		return nil, fmt.Errorf("%s: POST %s: %w", doing, safeURL(s.meta.RegistrationEndpoint), err)
	}
	r.RedirectURI = redirectURI
	g.log.Debug("registered with an authorization server", "issuer", safeURL(s.issuer()))
	return r, nil
}

// decodeRegistration returns the client that an answer of an authorization server describes.
func decodeRegistration(a *answer) (*registration, error) {
	var got struct {
		ID      string  `json:"client_id"`
		Secret  string  `json:"client_secret"`
		Expires float64 `json:"client_secret_expires_at"`
		Method  string  `json:"token_endpoint_auth_method"`
	}
	if err := a.decode(&got); err != nil {
		return nil, err
	}
	switch {
	case got.ID == "":
		return nil, errors.New("answer has no client_id")
	case max(len(got.ID), len(got.Secret)) > maxToken:
		return nil, fmt.Errorf("client_id has %d bytes and the client_secret %d, want at most %d",
			len(got.ID), len(got.Secret), maxToken)
	}
	r := &registration{ID: got.ID, Secret: got.Secret, Method: got.Method}
	const maxExpiry = 1e11 // Unix seconds, in the year 5138; more counts as never
	if got.Expires > 0 && got.Expires < maxExpiry {
		r.Expiry = time.Unix(int64(got.Expires), 0)
	}
	return r, r.checkMethod()
}

// methodToRegister returns the authentication method to ask for: none if the server supports that
// or says nothing, else one with a secret, which the server then issues.
func methodToRegister(m *issuerMetadata) string {
	for _, method := range []string{methodNone, methodBasic, methodPost} {
		if slices.Contains(m.TokenEndpointAuthMethodsSupported, method) {
			return method
		}
	}
	return methodNone
}

// applicationType returns "native" for a program on a person's machine and "web" for one on a
// server (OpenID Connect registration; required since 2026-07-28).
func applicationType(redirectURI string) string {
	u, err := url.Parse(redirectURI)
	if err != nil || u.Scheme != "https" || reach.ThisMachine(u.Hostname()) {
		return "native"
	}
	return "web"
}

// isKnown reports whether an authorization server may still know a client: it makes a token request with a made-up
// code. A server that knows the client refuses the code. A server that fails may know it.
func (g *registrar) isKnown(ctx context.Context, s *site, r *registration) bool {
	_, err := g.requestToken(ctx, &tokenRequest{
		doing: "ask for the client", meta: s.meta, client: r.credentials(s.issuer()),
		form: codeForm(rand.Text(), r.RedirectURI, oauth2.GenerateVerifier()),
	})
	refused, ok := errors.AsType[*ServerError](err)
	return !ok || refused.Code == "invalid_grant" || !isFinal(refused.status)
}

// removeUnknown removes the registration of a client from the store if err says that the server
// does not know it any more, so that the next attempt registers again. It reports whether it did.
func (g *registrar) removeUnknown(ctx context.Context, client *Credentials, err error) bool {
	refused, ok := errors.AsType[*ServerError](err)
	if !ok || refused.Code != "invalid_client" && refused.Code != "unauthorized_client" { // older Python SDKs write the latter
		return false
	}
	return g.replace(ctx, client, func(*registration) *registration { return nil })
}

// markUnanswered marks the registration of a client because a sign-in ended without an answer, for the reason err.
func (g *registrar) markUnanswered(ctx context.Context, client *Credentials, err error) {
	if _, ok := errors.AsType[*mcp.SignInError](err); ok {
		return // no page was shown
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	g.replace(ctx, client, func(r *registration) *registration {
		r.Unanswered = true
		return r
	})
}

// markTimeout bounds markUnanswered, which is not cancelled with the sign-in.
const markTimeout = 5 * time.Second

// replace replaces the stored registration of a client by what change returns; nil deletes it. It
// returns false if there is no registration, or it now belongs to another client.
func (g *registrar) replace(ctx context.Context, client *Credentials, change func(*registration) *registration) bool {
	known, err := g.stored(ctx, client.Issuer)
	if err != nil || known == nil || known.ID != client.ID {
		return false
	}
	replaced := false
	err = g.store.Update(ctx, g.key(client.Issuer), func(_ context.Context, old []byte) ([]byte, error) {
		r := new(registration)
		replaced = decodeEntry(old, r) && r.ID == client.ID
		if !replaced {
			return old, nil
		}
		next := change(r)
		if next == nil {
			return nil, nil
		}
		return json.Marshal(next)
	})
	if err != nil {
		g.log.Warn("could not change a registration in the store", "error", err)
	}
	return replaced && err == nil
}
