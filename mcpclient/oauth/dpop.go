package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpchain/mcpchain/internal/reach"
)

// dpopState holds what proofs need: the key, and the latest nonces of servers.
type dpopState struct {
	key        crypto.Signer
	jwk        map[string]string // the public key
	thumbprint string

	mu     sync.Mutex
	nonces map[string]string // the latest nonce by origin; at most maxNonces
}

const (
	maxNonces = 16      // bounds the nonces of all servers; one more clears them
	maxNonce  = 1 << 10 // bytes
)

// newDPoP checks a key.
func newDPoP(key crypto.Signer) (*dpopState, error) {
	if _, err := algorithmFor(key, nil); err != nil {
		return nil, fmt.Errorf("Options.DPoP: %w", err)
	}
	jwk, err := publicJWK(key)
	if err != nil {
		return nil, fmt.Errorf("Options.DPoP: %w", err)
	}
	canonical, err := json.Marshal(jwk) // sorted keys and no spaces: RFC 7638
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(canonical)
	return &dpopState{key: key, jwk: jwk, thumbprint: base64.RawURLEncoding.EncodeToString(sum[:]), nonces: map[string]string{}}, nil
}

// isBoundTo reports whether a token that is bound to a key is bound to this one. d is nil without DPoP.
func (d *dpopState) isBoundTo(t *token) bool { return d != nil && t.Thumbprint == d.thumbprint }

// publicJWK returns the members of a public key that RFC 7638 hashes.
func publicJWK(key crypto.Signer) (map[string]string, error) {
	b64 := base64.RawURLEncoding.EncodeToString
	switch public := key.Public().(type) {
	case *ecdsa.PublicKey:
		point, err := public.Bytes() // 4, x, y
		if err != nil {
			return nil, err
		}
		half := (len(point) - 1) / 2
		return map[string]string{
			"kty": "EC", "crv": public.Params().Name,
			"x": b64(point[1 : 1+half]), "y": b64(point[1+half:]),
		}, nil
	case *rsa.PublicKey:
		return map[string]string{"kty": "RSA", "n": b64(public.N.Bytes()), "e": b64(big.NewInt(int64(public.E)).Bytes())}, nil
	case ed25519.PublicKey:
		return map[string]string{"kty": "OKP", "crv": "Ed25519", "x": b64(public)}, nil
	}
	return nil, fmt.Errorf("no JWK for a key of type %T", key)
}

// proof signs a proof for one request, with the latest nonce of its server. token is empty for
// requests to the authorization server, and algorithms are empty if that names none.
func (d *dpopState) proof(method, target, token string, algorithms []string) (string, error) {
	alg, err := algorithmFor(d.key, algorithms)
	if err != nil {
		return "", fmt.Errorf("DPoP: %w", err)
	}
	u, err := url.Parse(target)
	if err != nil {
		return "", fmt.Errorf("DPoP: %s is not a URL", safeURL(target))
	}
	u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery, u.User = "", "", "", false, nil
	claims := jwt.MapClaims{"jti": rand.Text(), "htm": method, "htu": u.String(), "iat": time.Now().Unix()}
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if nonce := d.nonce(u); nonce != "" {
		claims["nonce"] = nonce
	}
	proof := jwt.NewWithClaims(alg, claims)
	proof.Header["typ"], proof.Header["jwk"] = "dpop+jwt", d.jwk
	signed, err := proof.SignedString(d.key)
	if err != nil {
		return "", fmt.Errorf("sign the DPoP proof: %w", err)
	}
	return signed, nil
}

func (d *dpopState) nonce(u *url.URL) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nonces[reach.Origin(u)]
}

// storeNonce stores the nonce in a response of the server at target. It returns false if there is
// none, or one of more than maxNonce bytes. d may be nil.
func (d *dpopState) storeNonce(target string, header http.Header) bool {
	nonce := header.Get("Dpop-Nonce")
	u, err := url.Parse(target)
	if d == nil || err != nil || nonce == "" || len(nonce) > maxNonce {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	o := reach.Origin(u)
	if _, known := d.nonces[o]; !known && len(d.nonces) >= maxNonces {
		clear(d.nonces)
	}
	d.nonces[o] = nonce
	return true
}
