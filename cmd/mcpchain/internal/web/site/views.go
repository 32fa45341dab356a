package site

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/viewing"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
)

// viewRates are the rates of a user's views, which send more than a person does.
var viewRates = Limits{PerMinute: 1800, Burst: 300}

// viewRoutes adds the routes of views, if there are views.
func (s *Site) viewRoutes(mux *http.ServeMux) {
	if s.opts.Views == nil {
		return
	}
	rates := hosting.NewRates(float64(viewRates.PerMinute), viewRates.Burst)
	for route, serve := range map[string]func(http.ResponseWriter, *http.Request, string){
		"POST /api/views": s.openView, "POST /api/views/seen": s.seenView, "POST /api/views/{session}/messages": s.viewSays,
		"POST /api/views/{session}/answers": s.answerView, "POST /api/views/{session}/mode": s.viewMode, "DELETE /api/views/{session}": s.endView,
	} {
		mux.HandleFunc(route, s.signedWithin(rates, serve))
	}
}

func (s *Site) openView(w http.ResponseWriter, r *http.Request, user string) {
	var q viewing.Request
	if !readJSON(w, r, &q) {
		return
	}
	opened, err := s.opts.Views.Open(r.Context(), user, q)
	switch {
	case errors.Is(err, viewing.ErrNoView), errors.Is(err, talk.ErrGone):
		writeError(w, http.StatusNotFound, "there is no view")
	case errors.Is(err, viewing.ErrTooMany):
		writeError(w, http.StatusTooManyRequests, err.Error())
	case err != nil:
		s.opts.Logger.Warn("a view cannot be shown", "error", err)
		writeError(w, http.StatusBadGateway, "the view cannot be shown; the log of the server says why")
	default:
		writeJSON(w, http.StatusOK, opened)
	}
}

func (s *Site) viewSays(w http.ResponseWriter, r *http.Request, user string) {
	var q struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if readJSON(w, r, &q) {
		s.done(w, r, s.opts.Views.Say(r.Context(), user, r.PathValue("session"), q.Messages))
	}
}

func (s *Site) answerView(w http.ResponseWriter, r *http.Request, user string) {
	var q struct {
		Ask string `json:"ask"`
		Yes bool   `json:"yes"`
	}
	if readJSON(w, r, &q) {
		s.done(w, r, s.opts.Views.Answer(user, r.PathValue("session"), q.Ask, q.Yes))
	}
}

func (s *Site) viewMode(w http.ResponseWriter, r *http.Request, user string) {
	var q struct {
		Mode host.DisplayMode `json:"mode"`
	}
	if readJSON(w, r, &q) {
		s.done(w, r, s.opts.Views.Mode(user, r.PathValue("session"), q.Mode))
	}
}

func (s *Site) endView(w http.ResponseWriter, r *http.Request, user string) {
	s.done(w, r, s.opts.Views.End(r.Context(), user, r.PathValue("session"), "the page does not show it any more"))
}

func (s *Site) seenView(w http.ResponseWriter, r *http.Request, user string) {
	var q struct {
		Window string `json:"window"`
		N      uint64 `json:"n"`
	}
	if readJSON(w, r, &q) {
		s.opts.Views.Seen(user, q.Window, q.N)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Site) done(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// watch streams a conversation and its views to a window.
func (s *Site) watch(ctx context.Context, p Person, w shown, send func([]talk.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var views sync.WaitGroup
	defer views.Wait()
	defer cancel()
	if s.opts.Views != nil && w.window != "" && len(w.window) <= 100 && w.conversation != "" {
		views.Go(func() { _ = s.opts.Views.Watch(ctx, p.User, p.Session, w.window, send); cancel() })
		views.Go(func() { _ = s.opts.Talk.WatchViews(ctx, p.User, w.conversation, send); cancel() })
	}
	return s.opts.Talk.Watch(ctx, p.User, w.conversation, w.after, send)
}
