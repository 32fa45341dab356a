package oauth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpchain/mcpchain/internal/check"
)

// checkProof verifies a proof with its own key, as a server does.
func checkProof(t *testing.T, proof, method, target, token string) jwt.MapClaims {
	t.Helper()
	claims := jwt.MapClaims{}
	parsed, err := jwt.ParseWithClaims(proof, claims, func(p *jwt.Token) (any, error) {
		jwk, _ := p.Header["jwk"].(map[string]any)
		point := []byte{4}
		for _, name := range []string{"x", "y"} {
			b, err := base64.RawURLEncoding.DecodeString(fmt.Sprint(jwk[name]))
			check.That(t, err == nil && len(b) == 32, "%s: got %d bytes, %v, want 32", name, len(b), err)
			point = append(point, b...)
		}
		check.That(t, len(jwk) == 4 && jwk["d"] == nil, "got jwk %v, want a public key", jwk)
		return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	}, jwt.WithValidMethods([]string{"ES256"}))
	check.Require(t, err == nil, "%v", err)
	sum := sha256.Sum256([]byte(token))
	ath, _ := claims["ath"].(string)
	check.That(t, (token != "" || ath == "") && (token == "" || ath == base64.RawURLEncoding.EncodeToString(sum[:])),
		"got ath %q for token %q", ath, token)
	check.That(t, parsed.Header["typ"] == "dpop+jwt" && claims["htm"] == method && claims["htu"] == target && claims["jti"] != "",
		"got header %v, claims %v", parsed.Header, claims)
	iat, _ := claims["iat"].(float64)
	check.That(t, int64(iat) == time.Now().Unix(), "got iat %v, want now", claims["iat"])
	return claims
}

// boundTo makes the world bind tokens to keys, and demand nonces if it has some.
func boundTo(w *world, asNonce, rsNonce string) {
	w.scheme = "DPoP"
	w.pages["as.test/token"] = func(rw http.ResponseWriter, req *http.Request) {
		claims := checkProof(w.t, req.Header.Get("Dpop"), "POST", issuerOne+"/token", "")
		_ = req.ParseForm()
		w.set(func() { w.forms = append(w.forms, req.PostForm) })
		if asNonce != "" {
			rw.Header().Set("DPoP-Nonce", asNonce)
			if claims["nonce"] != asNonce {
				reply(rw, http.StatusBadRequest, map[string]string{"error": "use_dpop_nonce"})
				return
			}
		}
		w.set(func() { w.issueLocked(rw, &issued{issuer: issuerOne, resource: serverURL}, "DPoP") })
	}
	w.pages["mcp.test/mcp"] = func(rw http.ResponseWriter, req *http.Request) {
		scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
		check.That(w.t, token == "" || scheme == "DPoP", "got scheme %q, want DPoP", scheme)
		if token != "" {
			claims := checkProof(w.t, req.Header.Get("Dpop"), "POST", serverURL, token)
			if rsNonce != "" && claims["nonce"] != rsNonce {
				rw.Header().Set("DPoP-Nonce", rsNonce)
				rw.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
				rw.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.set(func() { w.heads = append(w.heads, http.Header{"Jti": {claims["jti"].(string)}}) })
		}
		w.protected(rw, req)
	}
}

// bound is a transport that binds its tokens to a key.
func (w *world) bound(require bool) *Transport {
	opts := w.options()
	opts.DPoP, opts.RequireDPoP = newKey(w.t), require
	return w.transport(opts)
}

func TestDPoP(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		boundTo(w, "", "")
		auth := w.bound(true)
		w.mustCall(auth)
		check.NoError(t, callAs(t.Context(), auth, http.MethodPost, serverURL+"?query=1"))
		check.That(t, len(w.heads) == 2 && w.heads[0].Get("Jti") != w.heads[1].Get("Jti"), "got proofs %v, want a new one in each request", w.heads)
	})
}

func TestDPoPNonces(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		boundTo(w, "nonce-of-as", "nonce-of-rs")
		auth := w.bound(false)
		w.mustCall(auth)
		w.mustCall(auth)
		check.That(t, len(w.forms) == 2 && len(w.asked) == 1 && w.forms[0].Get("code") == w.forms[1].Get("code"),
			"got %d token requests, %d sign-ins, want the same code once more with the nonce", len(w.forms), len(w.asked))
		check.Equal(t, "requests that came through", len(w.heads), 2)
	})
}

// TestDPoPNonceForSeveral: concurrent requests are told the same nonce.
func TestDPoPNonceForSeveral(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		boundTo(w, "", "nonce-of-rs")
		page, opts := w.pages["mcp.test/mcp"], w.options()
		opts.DPoP, opts.Store = newKey(t), NewMemoryStore()
		w.mustCall(w.transport(opts))
		auth, refuse := w.transport(opts), make(chan struct{})
		w.set(func() {
			w.pages["mcp.test/mcp"] = func(rw http.ResponseWriter, req *http.Request) {
				<-refuse
				page(rw, req)
			}
		})
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() { check.NoError(t, call(t.Context(), auth)) })
		}
		synctest.Wait()
		close(refuse)
		calls.Wait()
	})
}

// TestDPoPNonceNeverRight: the request ends with an error.
func TestDPoPNonceNeverRight(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		boundTo(w, "", "")
		n, auth := 0, w.bound(false)
		w.mustCall(auth)
		w.set(func() {
			w.pages["mcp.test/mcp"] = func(rw http.ResponseWriter, _ *http.Request) {
				n++
				rw.Header().Set("DPoP-Nonce", strings.Repeat("n", n))
				rw.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
				rw.WriteHeader(http.StatusUnauthorized)
			}
		})
		err := call(t.Context(), auth)
		check.That(t, err != nil && strings.Contains(err.Error(), "401") && n == 2, "got %v after %d requests, want the 401 after 2", err, n)
	})
}

func TestDPoPIsNotSilentlyDropped(t *testing.T) {
	w := newWorld(t)
	wantUntrusted(t, call(t.Context(), w.bound(true)), "Options.RequireDPoP")

	w = newWorld(t)
	w.mustCall(w.bound(false))

	w = newWorld(t)
	w.scheme = "DPoP"
	check.Text(t, call(t.Context(), w.transport(w.options())), "set Options.DPoP")
}

// TestDPoPKeyOfStoredTokens: a token of another key is not used.
func TestDPoPKeyOfStoredTokens(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		boundTo(w, "", "")
		opts := w.options()
		opts.Store, opts.DPoP = NewMemoryStore(), newKey(t)
		w.mustCall(w.transport(opts))
		w.mustCall(w.transport(opts))
		check.Equal(t, "sign-ins with the same key", len(w.asked), 1)
		opts.DPoP = newKey(t)
		w.mustCall(w.transport(opts))
		check.Equal(t, "sign-ins with another key", len(w.asked), 2)
	})
}

// TestDPoPAlgorithm: the server gets proofs of an algorithm that its authorization server takes, also from a stored token.
func TestDPoPAlgorithm(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.scheme, w.meta["dpop_signing_alg_values_supported"] = "DPoP", []string{"PS256"}
		w.pages["as.test/token"] = func(rw http.ResponseWriter, _ *http.Request) {
			w.set(func() { w.issueLocked(rw, &issued{issuer: issuerOne, resource: serverURL}, "DPoP") })
		}
		opts := w.options()
		opts.DPoP = check.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
		w.mustCall(w.transport(opts))
		w.mustCall(w.transport(opts))
		for _, req := range w.seen[1:] { // the first has no token
			proof, _, err := jwt.NewParser().ParseUnverified(req.Header.Get("Dpop"), jwt.MapClaims{})
			check.Must(t, err)
			check.Equal[any](t, "algorithm", proof.Header["alg"], "PS256")
		}
		check.Equal(t, "requests", len(w.seen), 3)
	})
}

func TestThumbprint(t *testing.T) {
	// RFC 8037 appendix A.3.
	public := check.Value(base64.RawURLEncoding.DecodeString("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))(t)
	d := check.Value(newDPoP(append(make(ed25519.PrivateKey, 32), public...)))(t)
	want := "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
	check.That(t, d.thumbprint == want, "got %q, want %q", d.thumbprint, want)
	weak := check.Value(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))(t)
	check.Fails(t, check.Err(newDPoP(weak)), "a curve that no algorithm has")
}

func TestNoncesAreBounded(t *testing.T) {
	auth := newWorld(t).bound(false)
	for i := range 10 * maxNonces {
		auth.dpop.storeNonce("https://h"+strings.Repeat("x", i)+".test/", http.Header{"Dpop-Nonce": {"n"}})
	}
	got := len(auth.dpop.nonces)
	check.That(t, got <= maxNonces, "got %d nonces, want at most %d", got, maxNonces)
	check.That(t, !auth.dpop.storeNonce(serverURL, http.Header{"Dpop-Nonce": {strings.Repeat("n", maxNonce+1)}}), "kept a nonce over the bound")
}
