package service

import (
	"errors"
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
)

// identify returns the user of a request. The service knows a user only by this name, which must be unique.
type identify func(r *http.Request) (user string, err error)

// errUnknown means that a request belongs to no user.
var errUnknown = errors.New("no user has this token")

// demo are the users of a demonstration.
var demo = map[string]string{"demo-ada": "ada", "demo-bob": "bob"}

// bearer identifies users by their bearer tokens.
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
