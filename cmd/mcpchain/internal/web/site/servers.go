package site

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/access"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
)

// Access signs users in to servers. It is [access.Access].
type Access interface {
	Begin(ctx context.Context, user, server string) (address string, err error)
	Callback(ctx context.Context, user string, answer url.Values) (server string, err error)
	SignOut(ctx context.Context, user, server string) error
}

// CallbackPath is the route to which authorization servers redirect.
const CallbackPath = "/servers/callback"

// beginServer begins a sign-in to a server, and answers with the page to visit.
func (s *Site) beginServer(w http.ResponseWriter, r *http.Request, user string) {
	address, err := s.opts.Access.Begin(r.Context(), user, r.PathValue("server"))
	if err != nil {
		s.failServer(w, r, err)
		return
	}
	if address == "" {
		writeJSON(w, http.StatusOK, map[string]any{})
		return
	}
	link, err := talk.Link(address)
	if err != nil {
		s.failServer(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"link": link})
}

// leaveServer signs the user out of a server.
func (s *Site) leaveServer(w http.ResponseWriter, r *http.Request, user string) {
	if err := s.opts.Access.SignOut(r.Context(), user, r.PathValue("server")); err != nil {
		s.failServer(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{})
}

// failServer answers with the error of a sign-in, whose text is for people.
func (s *Site) failServer(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, access.ErrNoServer):
		writeError(w, http.StatusNotFound, err.Error())
	case errors.Is(err, access.ErrFull):
		writeError(w, http.StatusTooManyRequests, err.Error())
	default:
		s.opts.Logger.Warn("a sign-in to a server has failed", "server", r.PathValue("server"), "error", err)
		writeError(w, http.StatusBadGateway, talk.ShownError(err.Error()))
	}
}

// callback handles the answer of an authorization server, which the browser delivers.
func (s *Site) callback(w http.ResponseWriter, r *http.Request, user string) {
	server, err := s.opts.Access.Callback(r.Context(), user, r.URL.Query())
	if err != nil {
		WritePage(w, http.StatusForbidden, "You are not signed in", talk.ShownError(err.Error())+".")
		return
	}
	WritePage(w, http.StatusOK, "You are signed in to "+server, "You can close this window, and go on in the other one.")
}
