package site

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/viewing"
)

// The rate of the requests for a user's views, which send more than a person does.
const (
	viewsPerMinute = 1800
	viewBurst      = 300
)

// viewRoutes adds the routes of views.
func (s *site) viewRoutes(mux *http.ServeMux) {
	rates, views := hosting.NewRates(viewsPerMinute, viewBurst), s.opts.Views
	mux.Handle("POST /api/views", route(s, rates, s.openView))
	mux.Handle("POST /api/views/seen", route(s, rates, func(_ *http.Request, user string, body struct {
		Window string `json:"window"`
		N      uint64 `json:"n"`
	}) (reply, error) {
		views.Seen(user, body.Window, body.N)
		return done(nil)
	}))
	mux.Handle("POST /api/views/{session}/messages", route(s, rates, func(r *http.Request, user string, body struct {
		First    int               `json:"first"` // the number of the first message
		Messages []json.RawMessage `json:"messages"`
	}) (reply, error) {
		return done(views.Say(r.Context(), user, r.PathValue("session"), body.First, body.Messages))
	}))
	mux.Handle("POST /api/views/{session}/answers", route(s, rates, func(r *http.Request, user string, body struct {
		Question string `json:"ask"`
		Yes      bool   `json:"yes"`
	}) (reply, error) {
		return done(views.Reply(user, r.PathValue("session"), body.Question, body.Yes))
	}))
	mux.Handle("POST /api/views/{session}/mode", route(s, rates, func(r *http.Request, user string, body struct {
		Mode string `json:"mode"`
	}) (reply, error) {
		return done(views.SetMode(user, r.PathValue("session"), body.Mode))
	}))
	mux.Handle("DELETE /api/views/{session}", route(s, rates, func(r *http.Request, user string, _ none) (reply, error) {
		return done(views.End(r.Context(), user, r.PathValue("session"), r.URL.Query().Has("gone")))
	}))
}

// openView opens a view. The reason why it cannot be shown is only logged, as it may be a text of a server.
func (s *site) openView(r *http.Request, user string, q viewing.Request) (reply, error) {
	opened, err := s.opts.Views.Open(r.Context(), user, q)
	if err == nil || statusOf(err) != 0 {
		return found(opened, err)
	}
	s.opts.Logger.Warn("a view cannot be shown", "error", err)
	return reply{}, hosting.Refuse(http.StatusBadGateway, "the view cannot be shown; the log of the server says why")
}

// maxWindow bounds the name of a window, in bytes. A longer one has no views.
const maxWindow = 100

// watch streams a conversation and its views to a window, until one of them ends.
func (s *site) watch(ctx context.Context, p Person, w pane, send func([]talk.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var views sync.WaitGroup
	defer views.Wait()
	defer cancel()
	if s.opts.Views != nil && w.window != "" && len(w.window) <= maxWindow && w.conversation != "" {
		views.Go(func() {
			defer cancel()
			_ = s.opts.Views.Watch(ctx, p.User, p.Session, w.window, send) // its only error is send's
		})
	}
	return s.opts.Talk.Watch(ctx, p.User, w.conversation, w.after, send)
}
