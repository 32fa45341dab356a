// Package site serves the page, and the conversations of its users as JSON and server-sent events.
//
//	GET    /                                       the page
//	GET    /page/{file}                            its scripts and styles
//	GET    /api/me                                 who is signed in, and who may sign in
//	GET    /sign-in, /sign-in/…                    see [SignIn], also POST
//	POST   /api/sign-out
//	GET    /api/events?conversation=&after=&…      the stream of a browser's windows; it ends an earlier one of its reader=
//	POST   /api/conversations                      a new conversation {text}
//	POST   /api/conversations/{id}/messages        another question {text}
//	POST   /api/conversations/{id}/edits           another question instead of one {seq, index, text}
//	POST   /api/conversations/{id}/answers         an answer of the user to a question
//	POST   /api/conversations/{id}/stop            the end of the turn
//	POST   /api/conversations/{id}/retry           the turn again, if it has failed
//	DELETE /api/conversations/{id}
//	GET    /api/conversations/{id}/media/{seq}/{index}/{call}/{n}
//	GET    /api/conversations?after=&updated=      older ones than that one {list, more}
//	POST   /api/views                              the view of a call, see package viewing
//	POST   /api/views/seen                         the messages that a window has
//	POST   /api/views/{session}/messages, answers, mode
//	DELETE /api/views/{session}?gone               gone if the page is left, too
//	POST   /api/servers/{server}/sign-in           the page where the user signs in to a server {link}
//	POST   /api/servers/{server}/sign-out
//	DELETE /api/rules/{rule}                       a decision for later calls
//	GET    /servers/callback                       where authorization servers redirect to
//	GET    /healthz                                whether the site works, at any host name
//
// An error is {"error": "…"}, and for a form {"error": "…", "fields": {name: "…"}}.
package site

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/access"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/page"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/rules"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/viewing"
)

// Person is the sender of a request.
type Person struct {
	User    string // owner of conversations: a text in UTF-8 of at most 1 KiB; never empty
	Session string // identifies the session, but is not its secret: signing out ends its streams; "": it does not end here
}

// SignIn authenticates users of the page. The demo's asks for a name without proof; another may redirect to a provider.
type SignIn interface {
	// Person returns the sender of a request. ok is false if nobody is signed in.
	Person(r *http.Request) (p Person, ok bool)

	// Choices says what the page asks for. The page sends it with POST /sign-in.
	Choices() Choices

	// ServeHTTP serves /sign-in and all below, such as the redirect to a provider and back. POST requests have passed
	// the checks of this package. GET requests may come from any site.
	http.Handler

	// SignOut ends the session. It answers with 204, with 200 and {"location": "…"}, the provider's
	// page to visit, or with an error that says where to sign out.
	SignOut(w http.ResponseWriter, r *http.Request)
}

// Choices are the users to choose from, for a page without proof, which sends {"name": "…"}, or whether the page asks
// for a token, {"token": "…"}. With neither the page links to GET /sign-in.
type Choices struct {
	Names []string `json:"names"`
	Token bool     `json:"token,omitempty"`
}

// Options configure a site. Talk, SignIn and Hosts are required.
type Options struct {
	Talk   *talk.Service
	SignIn SignIn

	// Hosts are the names, with ports, by which browsers may reach the site. Requests for other
	// names are refused: a DNS entry of someone else may point here.
	Hosts []string

	// Secure means that browsers reach the site over HTTPS. The site tells them to use only HTTPS for a year.
	Secure bool

	// Canonical is one of Hosts, without HTTPS. The others redirect to it, because sign-ins to servers return there.
	// Default: no host redirects.
	Canonical string

	// Views has the views that windows show, and FrameOrigin is the origin of their sandbox;
	// nil and "" if there are none.
	Views       *viewing.Service
	FrameOrigin string

	// AddressHeader is a header, such as X-Forwarded-For, whose last element is the address of the browser if one of
	// Proxies sent the request. The header of other senders is ignored. Default: none.
	AddressHeader string
	Proxies       bounded.Addresses

	// Rules are users' decisions for later calls. Default: they cannot be revoked.
	Rules *rules.Rules

	// Access signs users in to servers. Default: no server requires it.
	Access *access.Access

	// Health returns an error if the site cannot work, for GET /healthz. Default: it always works.
	Health func(context.Context) error

	Limits Limits
	Logger *slog.Logger // default: [slog.Default]
}

// Limits bound the requests and windows of users. Zero means the default.
type Limits struct {
	// PerMinute bounds a user's requests that change something, except those of views, and an address's requests to
	// sign in or out; Burst of them may come at once. Default 120 and 30.
	PerMinute, Burst int

	// ReadsPerMinute bounds a user's GET requests, except /api/me; ReadBurst of them may come at once. Opening a
	// conversation reads all of it. Default 600 and 120.
	ReadsPerMinute, ReadBurst int

	// Windows bounds the open windows of a user, and AllWindows those of all users. Default 12 and 2,000.
	Windows, AllWindows int
}

func (l Limits) withDefaults() Limits {
	l.PerMinute, l.Burst = cmp.Or(l.PerMinute, 120), cmp.Or(l.Burst, 30)
	l.ReadsPerMinute, l.ReadBurst = cmp.Or(l.ReadsPerMinute, 600), cmp.Or(l.ReadBurst, 120)
	l.Windows, l.AllWindows = cmp.Or(l.Windows, 12), cmp.Or(l.AllWindows, 2000)
	return l
}

// site is the handler of all routes.
type site struct {
	opts           Options
	changes, reads *hosting.Rates
	streams        *streams
}

// New returns the handler.
func New(o Options) http.Handler {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Limits = o.Limits.withDefaults()
	s := &site{
		opts:    o,
		changes: hosting.NewRates(float64(o.Limits.PerMinute), o.Limits.Burst),
		reads:   hosting.NewRates(float64(o.Limits.ReadsPerMinute), o.Limits.ReadBurst),
		streams: &streams{each: o.Limits.Windows, all: o.Limits.AllWindows},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+healthPath, s.health)
	mux.Handle("GET /{$}", page.Handler())
	mux.Handle("GET /page/", page.Handler())
	mux.HandleFunc("GET /api/me", s.me)
	mux.HandleFunc("/sign-in", s.signIn)
	mux.HandleFunc("/sign-in/", s.signIn)
	mux.HandleFunc("POST /api/sign-out", s.signOut)
	mux.HandleFunc("GET /api/events", s.events)
	mux.Handle("POST /api/conversations", route(s, s.changes, s.begin))
	mux.Handle("GET /api/conversations", route(s, s.changes, s.older))
	mux.Handle("POST /api/conversations/{id}/messages", route(s, s.changes, s.say))
	mux.Handle("POST /api/conversations/{id}/edits", route(s, s.changes, s.edit))
	mux.Handle("POST /api/conversations/{id}/answers", route(s, s.changes, s.answer))
	mux.Handle("POST /api/conversations/{id}/stop", route(s, s.changes, s.stop))
	mux.Handle("POST /api/conversations/{id}/retry", route(s, s.changes, s.retry))
	mux.Handle("DELETE /api/conversations/{id}", route(s, s.changes, s.delete))
	mux.Handle("GET /api/conversations/{id}/media/{seq}/{index}/{call}/{n}", s.asUser(s.changes, s.media))
	if o.Rules != nil {
		mux.Handle("DELETE /api/rules/{rule}", route(s, s.changes, s.dropRule))
	}
	if o.Access != nil {
		mux.Handle("POST /api/servers/{server}/sign-in", route(s, s.changes, s.beginServer))
		mux.Handle("POST /api/servers/{server}/sign-out", route(s, s.changes, s.leaveServer))
		mux.HandleFunc("GET "+CallbackPath, s.callback)
	}
	if o.Views != nil {
		s.viewRoutes(mux)
	}
	return guarded(&o, hosting.Routes(mux))
}

// healthPath is for probes, which know neither a host name nor a user.
const healthPath = "/healthz"

// health answers with 204 if the site works, and otherwise with the reason.
func (s *site) health(w http.ResponseWriter, r *http.Request) {
	if s.opts.Health != nil {
		if err := s.opts.Health(r.Context()); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// me tells the page who is signed in, and whether the session can end here, or who may sign in.
func (s *site) me(w http.ResponseWriter, r *http.Request) {
	person, ok := s.opts.SignIn.Person(r)
	switch {
	case !ok && r.Context().Err() != nil:
		s.fail(w, r, r.Context().Err())
		return
	case !ok:
		hosting.WriteJSON(w, http.StatusOK, s.opts.SignIn.Choices())
		return
	}
	hosting.WriteJSON(w, http.StatusOK, map[string]any{"user": person.User, "signOut": person.Session != ""})
}

// allowAddress reports whether a request is within the rate of its address. If not, it answers the request.
func (s *site) allowAddress(w http.ResponseWriter, r *http.Request) bool {
	err := s.changes.Allow(w, "address "+s.addressOf(r))
	if err != nil {
		s.fail(w, r, err)
	}
	return err == nil
}

// signIn passes requests to the sign-in, within the rate of the address.
func (s *site) signIn(w http.ResponseWriter, r *http.Request) {
	if s.allowAddress(w, r) {
		s.opts.SignIn.ServeHTTP(w, r)
	}
}

// signOut ends the session, its streams and its views, if the session can end here. Conversations continue.
func (s *site) signOut(w http.ResponseWriter, r *http.Request) {
	if !s.allowAddress(w, r) {
		return
	}
	person, ok := s.opts.SignIn.Person(r)
	ok = ok && person.Session != ""
	endViews := func() {
		if ok && s.opts.Views != nil {
			s.opts.Views.EndSession(person.User, person.Session)
		}
	}
	endViews() // while their windows can still answer
	s.opts.SignIn.SignOut(w, r)
	if !ok {
		return
	}
	s.streams.end(person.Session)
	endViews() // those that began meanwhile
}

// asUser passes on requests of signed-in users, and answers with the error of next. changes bounds the requests other
// than GET.
func (s *site) asUser(changes *hosting.Rates, next func(w http.ResponseWriter, r *http.Request, user string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		person, err := s.person(w, r, changes)
		if err == nil {
			err = next(w, r, person.User)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	}
}

// person returns the sender of a request. The error means that nobody or another user is signed in, or the rate is
// exceeded: the page names the user that it shows, because another user may have signed in in another window.
func (s *site) person(w http.ResponseWriter, r *http.Request, changes *hosting.Rates) (Person, error) {
	p, ok := s.opts.SignIn.Person(r)
	shown, err := url.PathUnescape(r.Header.Get("Page-User"))
	switch {
	case !ok && r.Context().Err() != nil: // the program ends: nobody could look
		return p, r.Context().Err()
	case !ok:
		return p, hosting.Refuse(http.StatusUnauthorized, "sign in first")
	case err != nil || shown != "" && shown != p.User:
		return p, hosting.Refuse(http.StatusUnauthorized, "another user is signed in by now")
	case r.Method == http.MethodGet:
		changes = s.reads
	}
	return p, changes.Allow(w, "user "+p.User)
}
