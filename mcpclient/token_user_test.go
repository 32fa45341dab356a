package mcpclient_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

type tokenUser struct{}

// A source with tokens of several users finds the user in the context of the call, as an
// http.RoundTripper does.
func TestTokenByTheContextOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDiplomat()
		c := connectWith(t, serve(t, s), tokenFunc(func(ctx context.Context, _ *transport.Refusal) (transport.Token, error) {
			user, _ := ctx.Value(tokenUser{}).(string)
			return transport.Token{Value: "of-" + user, Owner: user}, nil
		}), legacy())
		s.read()
		noError(t, c.Ping(context.WithValue(t.Context(), tokenUser{}, "bob")))
		for _, what := range s.read() {
			wrong(t, !strings.Contains(what, "of-bob") && !strings.HasPrefix(what, "DELETE"), "got %q, want the token of bob only", what)
		}
	})
}

// If several requests find the token expired, it is renewed once.
func TestRefusedTokenIsRenewedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now atomic.Value
		now.Store("Bearer one")
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			time.Sleep(time.Second)
			if r.Header.Get("Authorization") != now.Load() {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = jsonWriter(w).Write([]byte(answerTo(m)))
		})
		var renewals atomic.Int32
		token := new(transport.Bearer)
		token.Refused = func(context.Context, *transport.Refusal) error {
			renewals.Add(1)
			time.Sleep(time.Second)
			return token.Renew("two")
		}
		_ = token.Set("one")
		c := connectWith(t, s, token, modern())
		now.Store("Bearer two")
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 300 * time.Millisecond)
				noError(t, errOf(c.CallTool(t.Context(), "a", nil)))
			})
		}
		wg.Wait()
		equal(t, "the token was renewed times", renewals.Load(), 1)
	})
}

// No error contains a token, even if the source has tokens of many users.
func TestTokenOfManyUsersIsRedacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if m.Params.Name == "slow" {
				time.Sleep(time.Minute)
				w.WriteHeader(http.StatusBadGateway)
				fmt.Fprint(w, "cannot forward ", r.Header.Get("Authorization"))
				return
			}
			fmt.Fprint(jsonWriter(w), answerTo(m))
		})
		c := connectWith(t, s, tokenFunc(func(ctx context.Context, _ *transport.Refusal) (transport.Token, error) {
			user, _ := ctx.Value(tokenUser{}).(string)
			return transport.Token{Value: "s3cret-of-" + user, Owner: user}, nil
		}), modern())
		call := func(user, tool string) error {
			_, err := c.CallTool(context.WithValue(t.Context(), tokenUser{}, user), tool, nil)
			return err
		}
		var wg sync.WaitGroup
		var err error
		wg.Go(func() { err = call("alice", "slow") })
		synctest.Wait()
		for i := range 20 {
			noError(t, call(fmt.Sprint("user", i), "quick"))
		}
		wg.Wait()
		wrong(t, err == nil || strings.Contains(err.Error(), "s3cret"), "got %v", err)
	})
}

// A token may be a prefix of another.
func TestTokenThatBeginsAnotherIsRedacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "cannot forward ", r.Header.Get("Authorization"))
		})
		token := bearer("account1")
		c := connectWith(t, s, token, modern())
		_ = token.Set("account1-s3cret")
		_, err := c.CallTool(t.Context(), "a", nil)
		wrong(t, err == nil || strings.Contains(err.Error(), "s3cret"), "got %v", err)
	})
}
