package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestRefreshBeforeExpiry(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		auth := w.transport(w.options())
		w.mustCall(auth)
		time.Sleep(time.Hour - earlyRenewal/2)
		w.mustCall(auth)
		synctest.Wait() // the renewal runs in the background
		w.mustCall(auth)
		check.Equal(t, "while the token was good", w.seen[2].Header.Get("Authorization"), "Bearer access-secret-1")
		check.Equal(t, "after the renewal", w.seen[3].Header.Get("Authorization"), "Bearer access-secret-2")
		time.Sleep(2 * time.Hour)
		w.mustCall(auth)
		got, want := w.grants(), []string{"authorization_code", "refresh_token", "refresh_token"}
		check.That(t, slices.Equal(got, want) && len(w.asked) == 1, "got %q and %d sign-ins, want %q and 1", got, len(w.asked), want)
		if got := w.forms[1]; got.Get("resource") != serverURL || got.Get("client_id") == "" {
			t.Errorf("got refresh request %v, want resource and client_id in it", got)
		}
		for _, req := range w.seen[1:] {
			check.That(t, req.Header.Get("Authorization") != "", "a request went without a token")
		}
	})
}

func TestManyCallsShareOneRefresh(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		auth := w.transport(w.options())
		w.mustCall(auth)
		w.revoke()
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() { check.NoError(t, call(t.Context(), auth)) })
		}
		calls.Wait()
		check.Same(t, "", w.grants(), []string{"authorization_code", "refresh_token"})
	})
}

// TestRefreshBlocksNobody: a hanging token endpoint delays no call with a valid token.
func TestRefreshBlocksNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		auth := w.transport(w.options())
		w.mustCall(auth)
		w.set(func() { w.pages["as.test/token"] = silence })
		time.Sleep(time.Hour - earlyRenewal/2)
		start := time.Now()
		for range 3 {
			w.mustCall(auth)
		}
		got := time.Since(start)
		check.That(t, got <= 0, "the calls took %v", got)
		time.Sleep(earlyRenewal / 2)
		start = time.Now()
		err := call(t.Context(), auth)
		check.That(t, err != nil && strings.HasSuffix(err.Error(), ": no answer within 30s") && !errors.Is(err, context.DeadlineExceeded),
			"got %v after %v, want to hear of the timeout", err, time.Since(start))
		got = time.Since(start)
		check.That(t, got <= 30*time.Second, "the call took %v, want at most 30 s", got)
	})
}

// TestFailedRenewalIsRepeated: after a pause, while the token is valid.
func TestFailedRenewalIsRepeated(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		auth := w.transport(w.options())
		w.mustCall(auth)
		tries := 0
		w.set(func() {
			w.pages["as.test/token"] = func(rw http.ResponseWriter, _ *http.Request) {
				tries++
				rw.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		time.Sleep(time.Hour - earlyRenewal/2)
		for range 5 {
			w.mustCall(auth)
			synctest.Wait()
		}
		check.Equal(t, "attempts at once", tries, 1)
		time.Sleep(renewalPause)
		w.mustCall(auth)
		synctest.Wait()
		check.Equal(t, "attempts after the pause", tries, 2)
		time.Sleep(earlyRenewal)
		if err := call(t.Context(), auth); err == nil || !strings.Contains(err.Error(), "HTTP status 503") || len(w.asked) != 1 {
			t.Errorf("got %v after %d sign-ins, want the server's 503 and no second sign-in", err, len(w.asked))
		}
	})
}

func TestDeadRefreshTokenMeansSignIn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.supported = []string{"read"}
		auth := w.transport(w.options())
		w.mustCall(auth)
		w.revoke()
		w.set(func() { clear(w.refreshes); w.supported = nil })
		w.mustCall(auth)
		check.Same(t, "", w.grants(), []string{"authorization_code", "refresh_token", "authorization_code"})
		check.Equal(t, "scope", query(t, w.asked[1], "scope"), "read")
	})
}

// TestNobodyIsBotheredEarly: a renewal in the background never asks a person.
func TestNobodyIsBotheredEarly(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		auth := w.transport(w.options())
		w.mustCall(auth)
		w.set(func() { clear(w.refreshes) })
		time.Sleep(time.Hour - earlyRenewal/2)
		w.mustCall(auth)
		synctest.Wait()
		check.Equal(t, "sign-ins", len(w.asked), 1)
		time.Sleep(time.Hour)
		w.mustCall(auth)
		check.Equal(t, "sign-ins after the end of the token", len(w.asked), 2)
	})
}

// TestTokenIsNotStored: while the store takes nothing, new tokens are used nevertheless, and refreshed in their turn.
func TestTokenIsNotStored(t *testing.T) {
	w, full := newWorld(t), false
	opts := w.options()
	opts.Store = &stuckStore{NewMemoryStore(), func(Key, []byte) bool { return full }}
	auth := w.transport(opts)
	w.mustCall(auth)
	full = true
	for range 2 {
		w.revoke()
		w.mustCall(auth)
	}
	check.Equal(t, "sign-ins", len(w.asked), 1)
	w.revoke()
	w.set(func() { clear(w.refreshes) })
	w.mustCall(auth)
	full = false
	w.revoke()
	w.mustCall(auth)
	w.mustCall(w.transport(opts))
	check.Same(t, "grants", w.grants(), []string{
		"authorization_code", "refresh_token", "refresh_token", "refresh_token", "authorization_code", "refresh_token",
	})
}

// TestUnattended: a client that reconnects in the background asks no person to sign in.
func TestUnattended(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		auth := w.transport(w.options())
		err := call(backoff.Unattended(t.Context()), auth)
		check.That(t, errors.Is(err, backoff.ErrUnattended) && len(w.asked) == 0, "got %v and %d sign-ins, want an error without one", err, len(w.asked))
		w.mustCall(auth)
		w.revoke()
		err = call(backoff.Unattended(t.Context()), auth)
		check.That(t, err == nil && len(w.asked) == 1, "got %v and %d sign-ins, want the token to be refreshed", err, len(w.asked))
	})
}

func TestRefreshTokenThatIsNotRotated(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		auth := w.transport(w.options())
		w.mustCall(auth)
		w.set(func() { w.noRefresh = true })
		for range 2 {
			w.revoke()
			w.set(func() { w.refreshes["refresh-secret-1"] = w.tokens["access-secret-1"] })
			w.mustCall(auth)
		}
		check.That(t, len(w.asked) == 1 && w.forms[2].Get("refresh_token") == "refresh-secret-1", "got %d sign-ins, form %v", len(w.asked), w.forms[2])
	})
}

func TestMigration(t *testing.T) {
	w := newWorld(t)
	auth := w.transport(w.options())
	w.mustCall(auth)
	w.set(func() { w.issuers = []string{issuerTwo} })
	w.mustCall(auth)
	check.Same(t, "requests to both servers", w.grants(), []string{"authorization_code", "authorization_code"})
	check.Equal(t, "client at the second server", query(t, w.asked[1], "client_id"), "client-2-of-as2.test")
	w.set(func() { w.issuers = []string{issuerOne} }) // and back: the stored token of the first is valid again
	w.mustCall(auth)
	check.Equal(t, "sign-ins", len(w.asked), 2)
}

func TestRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		opts := w.options()
		w.mustCall(w.transport(opts))
		before := len(w.paths)
		w.mustCall(w.transport(opts))
		check.That(t, len(w.paths) == before && len(w.seen) == 3,
			"got %q, %d requests after a restart, want the token to be used at once", w.paths[before:], len(w.seen))
		time.Sleep(2 * time.Hour)
		w.mustCall(w.transport(opts))
		check.That(t, len(w.asked) == 1 && w.grants()[1] == "refresh_token", "got %d sign-ins, grants %q, want a refresh", len(w.asked), w.grants())
		other := *opts
		other.Account = "another person"
		w.mustCall(w.transport(&other))
		check.Equal(t, "sign-ins, also of another profile", len(w.asked), 2)
	})
}

// TestTokenOfADamagedStore has a token that says that it is bound to a key, and not to which: it is not used.
func TestTokenOfADamagedStore(t *testing.T) {
	w := newWorld(t)
	opts := w.options()
	auth := w.transport(opts)
	w.mustCall(auth)
	kept, err := auth.storedLink(t.Context())
	check.Require(t, err == nil && kept != nil, "%v %v", kept, err)
	tok := *auth.sessions.get().token
	tok.Type, tok.Thumbprint, tok.Refresh = "DPoP", "", ""
	check.Must(t, save(t.Context(), opts.Store, auth.tokenKey(kept.Resource, kept.Issuer), &tok))
	w.mustCall(w.transport(opts))
	check.Equal(t, "sign-ins", len(w.asked), 2)
}

func TestLifetime(t *testing.T) {
	for raw, want := range map[string]struct {
		want time.Duration
		ok   bool
	}{
		``: {0, true}, `null`: {0, true}, `60`: {time.Minute, true}, `"60"`: {time.Minute, true}, `60.9`: {time.Minute, true},
		`-1`: {0, false}, `"x"`: {0, false}, `{}`: {0, false}, `1e300`: {10 * 365 * 24 * time.Hour, true},
	} {
		got, err := lifetime(json.RawMessage(raw))
		check.That(t, got == want.want && (err == nil) == want.ok, "%s: got %v, %v, want %v, %v", raw, got, err, want.want, want.ok)
	}
}

// TestShortLives: tokens with a life of seconds are used, not only renewed.
func TestShortLives(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.life = 3 * time.Second
		auth := w.transport(w.options())
		for range 5 {
			w.mustCall(auth)
		}
		got := w.grants()
		check.That(t, len(got) == 1, "got %q, want one token for all the calls", got)
		time.Sleep(w.life)
		w.mustCall(auth)
		got = w.grants()
		check.That(t, len(got) == 2, "got %q, want a refresh at the end", got)
	})
}

// TestMigrationDuringARenewal: a server moves to another authorization server while its token is renewed early at the first.
func TestMigrationDuringARenewal(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.noRefresh = true
		auth := w.transport(w.granted(ClientCredentials{{Issuer: issuerOne, ID: "one", Secret: "s"}, {Issuer: issuerTwo, ID: "two", Secret: "s"}}))
		w.mustCall(auth)
		time.Sleep(time.Hour - earlyRenewal/2)
		moved := make(chan struct{})
		w.set(func() {
			w.issuers = []string{issuerTwo}
			w.pages["as.test/token"] = func(rw http.ResponseWriter, req *http.Request) {
				<-moved
				w.authorization(rw, req)
			}
		})
		time.AfterFunc(time.Second, func() { close(moved) })
		w.mustCall(auth)
	})
}
