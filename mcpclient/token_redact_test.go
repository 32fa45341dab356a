package mcpclient_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

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
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("got %v", err)
		}
		_ = c.Close()
	})
}

// A token may be a prefix of another.
func TestTokenThatBeginsAnotherIsRedacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "cannot forward ", r.Header.Get("Authorization"))
		})
		token := new(transport.Bearer)
		_ = token.Set("account1")
		c := connectWith(t, s, token, modern())
		_ = token.Set("account1-s3cret")
		_, err := c.CallTool(t.Context(), "a", nil)
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("got %v", err)
		}
		_ = c.Close()
	})
}
