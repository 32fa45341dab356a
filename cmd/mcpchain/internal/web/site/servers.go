package site

import (
	"html/template"
	"net/http"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
)

// CallbackPath is the route to which authorization servers redirect.
const CallbackPath = "/servers/callback"

// beginServer begins a sign-in to a server, and answers with the page to visit, or {} if the user is signed in already.
func (s *site) beginServer(r *http.Request, user string, _ none) (reply, error) {
	address, err := s.opts.Access.Begin(r.Context(), user, r.PathValue("server"))
	if err != nil || address == "" {
		return found(none{}, s.signInError(r, err))
	}
	link, err := talk.ParseLink(address)
	return found(map[string]any{"link": link}, s.signInError(r, err))
}

// leaveServer signs the user out of a server.
func (s *site) leaveServer(r *http.Request, user string, _ none) (reply, error) {
	return found(none{}, s.signInError(r, s.opts.Access.SignOut(r.Context(), user, r.PathValue("server"))))
}

// signInError logs the error of a sign-in and returns it with a text for people, nil for none.
func (s *site) signInError(r *http.Request, err error) error {
	if err == nil || statusOf(err) != 0 {
		return err
	}
	s.opts.Logger.Warn("a sign-in to a server has failed", "server", r.PathValue("server"), "error", err)
	return hosting.Refuse(http.StatusBadGateway, "%s", talk.ErrorText(err.Error()))
}

// callback handles the answer of an authorization server, which the browser delivers. It answers with a page, because a
// person reads it.
func (s *site) callback(w http.ResponseWriter, r *http.Request) {
	server := ""
	person, err := s.person(w, r, s.changes)
	if err == nil {
		server, err = s.opts.Access.Callback(r.Context(), person.User, r.URL.Query())
	}
	if err != nil {
		WritePage(w, http.StatusForbidden, "You are not signed in", talk.ErrorText(err.Error())+".")
		return
	}
	WritePage(w, http.StatusOK, "You are signed in to "+server, "You can close this window, and continue in the other one.")
}

// textTemplate is a page with a title and a text.
var textTemplate = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/base.css">
<link rel="stylesheet" href="/page/layout.css">
<main class="sign-in"><h1>{{.Title}}</h1><p>{{.Text}}</p><p><a href="/">Open the page</a></p></main>
</html>
`))

// WritePage answers a navigation with a page of text.
func WritePage(w http.ResponseWriter, status int, title, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = textTemplate.Execute(w, struct{ Title, Text string }{title, text}) // an error means that the browser is gone
}
