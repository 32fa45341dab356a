package signin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/mcpchain/mcpchain/mcpclient/oauth"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// ErrDeclined means that the person does not want to sign in.
var ErrDeclined = errors.New("you did not sign in")

// Explain returns why a server cannot be used without a sign-in, or why it or its sign-in service
// refused one, to a person who does not program. Other errors stay as they are.
func Explain(err error) error {
	text := explain(err)
	if text == "" {
		return err
	}
	return &explained{text, err}
}

// Failure is like Explain, for the error of a sign-in, which may also be a timeout or a failure of the network.
func Failure(err error) error {
	_, isNet := errors.AsType[*net.OpError](err)
	switch {
	case explain(err) != "":
	case errors.Is(err, context.DeadlineExceeded):
		return &explained{"the sign-in took too long; begin again", err}
	case isNet:
		return &explained{fmt.Sprintf("the server or its sign-in service cannot be reached: %v", err), err}
	}
	return Explain(err)
}

type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }

const header = `write it in mcp.json, as in "headers": {"Authorization": "Bearer KEY"}`

// explain returns advice for an error, "" for none.
func explain(err error) string {
	needed, isNeeded := errors.AsType[*NeededError](err)
	refusal, isRefusal := errors.AsType[*oauth.ServerError](err)
	status, isStatus := errors.AsType[*transport.HTTPError](err)
	switch {
	case err == nil:
		return ""
	case isNeeded:
		return needed.Error()
	case errors.Is(err, ErrDeclined):
		return ErrDeclined.Error()
	case isRefusal && refusal.Code == "access_denied":
		return fmt.Sprintf("%s says that the access was not allowed: sign in again, and allow it there", refusal.Issuer)
	case isRefusal && refusal.Code == "insufficient_scope":
		return fmt.Sprintf("your account may not do this: %v", refusal)
	case isRefusal:
		return fmt.Sprintf("the sign-in service refused: %v", refusal)
	case errors.Is(err, oauth.ErrNoAuthorization):
		return "the server wants a key, and does not say where to sign in: get a key from its operator, and " + header
	case errors.Is(err, oauth.ErrUntrusted):
		return fmt.Sprintf("the sign-in was stopped, since something about it is not right: %v", err)
	case isStatus && status.Status == http.StatusUnauthorized:
		return fmt.Sprintf("the server wants a key, or another one than it got: get one from its operator, and %s (HTTP status 401 of %s)",
			header, status.URL)
	}
	return ""
}
