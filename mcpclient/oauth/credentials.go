package oauth

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// How a client authenticates itself at a token endpoint, by the names in metadata. Clients without
// a secret or key use methodNone.
const (
	methodNone          = "none"
	methodBasic         = "client_secret_basic"
	methodPost          = "client_secret_post"
	methodPrivateKeyJWT = "private_key_jwt"
)

// Credentials identify a client that is registered with one authorization server. They are sent
// only to that server. They are printed without their secrets.
type Credentials struct {
	Issuer string // the authorization server, exactly as in its metadata
	ID     string
	Secret string // only for basic and post

	// Key signs assertions for private_key_jwt: an *ecdsa.PrivateKey, *rsa.PrivateKey or ed25519.PrivateKey.
	Key   crypto.Signer
	KeyID string // the kid of the assertions, if the server knows several keys

	// Method is the client's authentication, by its name in metadata: "none", "client_secret_basic",
	// "client_secret_post" or "private_key_jwt". Default: with a key, private_key_jwt; with a secret, basic or else
	// post, if the server supports it; otherwise none.
	Method string

	// Audience is the audience of the assertions. Default: the issuer; some
	// servers want the URL of their token endpoint.
	Audience string
}

// Format writes the ID and the issuer, whatever the verb.
func (c Credentials) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "oauth.Credentials{%s at %s}", c.ID, safeURL(c.Issuer))
}

// LogValue returns the text that Format writes.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(c)) }

// check returns an error for credentials that cannot work, or have no issuer.
func (c *Credentials) check() error {
	if err := c.checkIdentity(); err != nil {
		return err
	}
	if c.Issuer == "" {
		return fmt.Errorf("Credentials.Issuer of client %q is empty: name the authorization server that it is registered with", c.ID)
	}
	return nil
}

// checkIdentity returns an error for credentials that cannot work, whatever the issuer.
func (c *Credentials) checkIdentity() error {
	switch {
	case c.ID == "":
		return errors.New("Credentials.ID is empty")
	case c.Secret != "" && c.Key != nil:
		return fmt.Errorf("client %q has a Secret and a Key: set only the registered one", c.ID)
	case c.Key != nil:
		if _, err := algorithmFor(c.Key, nil); err != nil {
			return err
		}
	}
	return c.checkMethod()
}

// checkMethod returns an error for a method that the client cannot use.
func (c *Credentials) checkMethod() error {
	missing := ""
	switch c.Method {
	case "", methodNone:
		return nil
	case methodBasic, methodPost:
		if c.Secret != "" {
			return nil
		}
		missing = "a secret"
	case methodPrivateKeyJWT:
		if c.Key != nil {
			return nil
		}
		missing = "a key"
	default:
		return fmt.Errorf("client %q: authentication method %q is not supported", cut(c.ID), cut(c.Method))
	}
	return fmt.Errorf("client %q: authentication method %q needs %s", cut(c.ID), c.Method, missing)
}

func checkAll(clients []Credentials) error {
	var errs []error
	for _, c := range clients {
		errs = append(errs, c.check())
	}
	return errors.Join(errs...)
}

// credentialsFor returns the credentials for an issuer, nil if there are none.
func credentialsFor(clients []Credentials, issuer string) *Credentials {
	for _, c := range clients {
		if c.Issuer == issuer {
			return &c
		}
	}
	return nil
}

// chooseIssuer picks the current issuer if it may be used, else the first that may.
func chooseIssuer(issuers []string, current string, usable func(issuer string) bool) (string, bool) {
	if usable(current) && slices.Contains(issuers, current) {
		return current, true
	}
	i := slices.IndexFunc(issuers, usable)
	if i < 0 {
		return "", false
	}
	return issuers[i], true
}

// chooseRegistered picks an issuer for which there are credentials.
func chooseRegistered(clients []Credentials, issuers []string, current string) (string, error) {
	registered := func(issuer string) bool { return credentialsFor(clients, issuer) != nil }
	if issuer, ok := chooseIssuer(issuers, current, registered); ok {
		return issuer, nil
	}
	var have []string
	for _, c := range clients {
		have = append(have, c.Issuer)
	}
	return "", untrustedError("the server names the authorization servers %q, but the credentials are for %q: "+
		"if the server has moved, register with the new one", safeURLs(issuers), safeURLs(have))
}

// safeURLs returns a list of URLs for errors, as [safeURL] does.
func safeURLs(urls []string) string {
	var safe []string
	for _, u := range urls {
		safe = append(safe, safeURL(u))
	}
	return cut(strings.Join(safe, " "))
}

// method returns how to authenticate, by its name in metadata.
func (c *Credentials) method(m *issuerMetadata) (string, error) {
	if c.Method != "" {
		return c.Method, nil
	}
	supported := m.TokenEndpointAuthMethodsSupported
	if len(supported) == 0 {
		// The default of RFC 8414, and other likely methods.
		supported = []string{methodBasic, methodPost, methodPrivateKeyJWT}
	}
	var ours []string
	switch {
	case c.Key != nil:
		ours = []string{methodPrivateKeyJWT}
	case c.Secret != "":
		ours = []string{methodBasic, methodPost, methodNone}
	default:
		return methodNone, nil
	}
	for _, method := range ours {
		if slices.Contains(supported, method) {
			return method, nil
		}
	}
	return "", fmt.Errorf("authorization server %s supports the authentication methods %q, "+
		"client %q has credentials for %q",
		safeURL(m.Issuer), cut(strings.Join(supported, " ")), c.ID, ours)
}

// authenticate adds the client's identity to a token request.
func (c *Credentials) authenticate(form url.Values, header map[string][]string, m *issuerMetadata) error {
	method, err := c.method(m)
	if err != nil {
		return err
	}
	switch method {
	case methodBasic:
		// OAuth 2.1 §2.4.1: both parts are form-encoded first.
		pair := url.QueryEscape(c.ID) + ":" + url.QueryEscape(c.Secret)
		header["Authorization"] = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(pair))}
	case methodPost:
		form.Set("client_id", c.ID)
		form.Set("client_secret", c.Secret)
	case methodPrivateKeyJWT:
		assertion, err := c.assertion(m)
		if err != nil {
			return err
		}
		form.Set("client_id", c.ID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	case methodNone:
		if c.ID != "" {
			form.Set("client_id", c.ID)
		}
	}
	return nil
}

const assertionLife = 2 * time.Minute

// assertion signs the client's identity (RFC 7523 §2.2).
func (c *Credentials) assertion(m *issuerMetadata) (string, error) {
	alg, err := algorithmFor(c.Key, m.TokenEndpointAuthSigningAlgs)
	if err != nil {
		return "", err
	}
	now := time.Now()
	token := jwt.NewWithClaims(alg, jwt.RegisteredClaims{
		Issuer: c.ID, Subject: c.ID, Audience: jwt.ClaimStrings{cmp.Or(c.Audience, m.Issuer)}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(assertionLife)),
	})
	if c.KeyID != "" {
		token.Header["kid"] = c.KeyID
	}
	signed, err := token.SignedString(c.Key)
	if err != nil {
		return "", fmt.Errorf("sign the assertion of client %q: %w", c.ID, err)
	}
	return signed, nil
}

// algorithmFor picks an algorithm for a key from the server's list, by preference the most usual one.
// An empty list stands for all algorithms.
func algorithmFor(key crypto.Signer, supported []string) (jwt.SigningMethod, error) {
	var ours []jwt.SigningMethod
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		switch k.Curve {
		case elliptic.P256():
			ours = []jwt.SigningMethod{jwt.SigningMethodES256}
		case elliptic.P384():
			ours = []jwt.SigningMethod{jwt.SigningMethodES384}
		case elliptic.P521():
			ours = []jwt.SigningMethod{jwt.SigningMethodES512}
		}
	case *rsa.PrivateKey:
		ours = []jwt.SigningMethod{
			jwt.SigningMethodRS256, jwt.SigningMethodPS256, jwt.SigningMethodRS384,
			jwt.SigningMethodPS384, jwt.SigningMethodRS512, jwt.SigningMethodPS512,
		}
	case ed25519.PrivateKey:
		ours = []jwt.SigningMethod{jwt.SigningMethodEdDSA}
	}
	if len(ours) == 0 {
		return nil, fmt.Errorf("key of type %T: want an ECDSA (P-256, P-384, P-521), RSA or Ed25519 private key", key)
	}
	if len(supported) == 0 {
		return ours[0], nil
	}
	for _, alg := range ours {
		if slices.Contains(supported, alg.Alg()) {
			return alg, nil
		}
	}
	return nil, fmt.Errorf("server supports the algorithms %q, a key of type %T has %s",
		cut(strings.Join(supported, " ")), key, ours[0].Alg())
}
