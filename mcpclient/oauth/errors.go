package oauth

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
)

// ErrUntrusted is the error of a possible attack, or of a wrongly configured server: a forbidden
// URL, metadata of another issuer or resource, a redirect with a wrong state or issuer.
var ErrUntrusted = errors.New("oauth: untrusted")

// errClosed is the error of requests that need a token after [Transport.Close].
var errClosed = errors.New("oauth: transport closed")

// errSignedOut ends the flight of a [Transport.SignOut]. No caller sees it: those that wait for
// that flight start another one.
var errSignedOut = errors.New("oauth: signed out")

// ErrNoAuthorization is the error of a server that demands authorization without naming an authorization server.
var ErrNoAuthorization = errors.New("oauth: the server names no authorization server")

// ServerError is an error response of an authorization server (RFC 6749, sections 4.1.2.1 and 5.2).
// With the code "insufficient_scope" (RFC 6750) it comes from the MCP server, which demands scopes
// that were requested before: another request cannot help.
type ServerError struct {
	Issuer string // the server that responded
	Code   string // such as "invalid_grant"; may be empty

	doing       string   // "refresh the token", "register the client", …
	status      int      // HTTP status; 0 for an answer through the browser
	description string   // the server's text, at most 300 bytes, without our secrets
	scopes      []string // those that the MCP server demands; nil if unknown
}

const codeScope = "insufficient_scope"

// Error returns the operation, the server's error and, for known codes, advice.
func (e *ServerError) Error() string {
	if e.Code == codeScope {
		return e.scopeText()
	}
	var b strings.Builder
	if e.doing != "" {
		b.WriteString(e.doing + ": ")
	}
	fmt.Fprintf(&b, "authorization server %s answered", e.Issuer)
	if e.Code != "" {
		fmt.Fprintf(&b, " %q", e.Code)
	} else {
		fmt.Fprintf(&b, " with HTTP status %d", e.status)
	}
	if e.description != "" {
		fmt.Fprintf(&b, " (%q)", e.description)
	}
	if advice := advices[e.Code]; advice != "" {
		b.WriteString("; " + advice)
	}
	return b.String()
}

// advices says what to do after an error, by its code.
var advices = map[string]string{
	"access_denied":             "sign in again and allow the access",
	"invalid_client":            "check the client id, its secret or key, and that it is registered with this server",
	"invalid_grant":             "sign in again",
	"invalid_scope":             "set Options.Scopes to scopes that the server knows",
	"invalid_target":            "the authorization server does not know this MCP server: its operator must add it",
	"invalid_redirect_uri":      "register the redirect URI that the receiver uses",
	"invalid_client_metadata":   "adjust AuthorizationCode.RegisterAs, or register a client by hand and set AuthorizationCode.Clients",
	"unauthorized_client":       "the client is not allowed this grant: its registration must be changed",
	"unsupported_grant_type":    "use another Grant: the server does not offer this one",
	"server_error":              "try again later",
	"temporarily_unavailable":   "try again later",
	"invalid_dpop_proof":        "check that this machine's clock is right",
	"unsupported_response_type": "the authorization server does not offer the code flow",
}

// scopeText is the text of an error with codeScope.
func (e *ServerError) scopeText() string {
	if len(e.scopes) == 0 {
		return fmt.Sprintf("%s: the token is not enough, and the server does not say what is missing", e.Issuer)
	}
	return fmt.Sprintf("%s demands the scopes %q, which were asked for already: the account may not have them; "+
		"after a change there, sign out and in again", e.Issuer, strings.Join(e.scopes, " "))
}

// untrustedError returns an error that matches ErrUntrusted and gives the reason.
func untrustedError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUntrusted, fmt.Errorf(format, args...))
}

const maxShown = 300 // bytes of a server's text in an error

// cut shortens a server's text for errors.
func cut(s string) string { return excerpt.CutAt(s, maxShown) }

// safeURL returns a URL for errors and logs: without user info, query and fragment.
func safeURL(raw string) string { return cut(redact.RawURL(raw)) }

// scrub removes secrets from a server's text.
func scrub(text string, secrets ...string) string {
	const long = 4 // a shorter text is not secret, and replacing it would garble the error
	for _, s := range secrets {
		if len(s) >= long {
			text = strings.ReplaceAll(text, s, "[secret]")
		}
	}
	return cut(text)
}

// isFinal reports whether the same request would get the same answer again.
func isFinal(status int) bool {
	return status/100 == 4 && !backoff.IsTransient(status)
}

// join returns an error for two attempts in one line. first is nil for none.
func join(first, next error) error {
	if first == nil {
		return next
	}
	return fmt.Errorf("%w; %w", first, next)
}
