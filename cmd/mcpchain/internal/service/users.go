package service

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
)

// identify finds out who makes a request. Put the check of your own tokens here, for example by
// the keys of an OpenID provider: the service knows a user by this name alone, and two users
// never have the same one.
type identify func(r *http.Request) (user string, err error)

// errUnknown says that a request is of no user.
var errUnknown = errors.New("no user has this token")

// demo are the users of a demonstration.
var demo = map[string]string{"demo-ada": "ada", "demo-bob": "bob"}

// demoTokens are the tokens of the demo users.
func demoTokens() (tokens []string) {
	for token := range demo {
		tokens = append(tokens, token)
	}
	slices.Sort(tokens)
	return tokens
}

// bearer knows users by their bearer tokens.
func bearer(t *tokens.Table) identify {
	return func(r *http.Request) (string, error) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		user, _, ok := t.Find(strings.TrimSpace(token))
		if !ok || !strings.EqualFold(scheme, "Bearer") {
			return "", errUnknown
		}
		return user, nil
	}
}
