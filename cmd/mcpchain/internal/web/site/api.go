package site

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
)

type question struct {
	Text string `json:"text"`
}

func (s *Site) begin(w http.ResponseWriter, r *http.Request, user string) {
	var q question
	if !readJSON(w, r, &q) {
		return
	}
	id, err := s.opts.Talk.Begin(r.Context(), user, q.Text)
	s.respond(w, r, id, err)
}

// older answers with the conversations after one, which the list had with a certain time.
func (s *Site) older(w http.ResponseWriter, r *http.Request, user string) {
	query := r.URL.Query()
	at, err := time.Parse(time.RFC3339Nano, query.Get("updated"))
	if err != nil {
		writeError(w, http.StatusBadRequest, "updated is not a time")
		return
	}
	list, more, err := s.opts.Talk.Older(r.Context(), user, query.Get("after"), at)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"list": list, "more": more})
}

func (s *Site) say(w http.ResponseWriter, r *http.Request, user string) {
	var q question
	if !readJSON(w, r, &q) {
		return
	}
	id := r.PathValue("id")
	say := func(before ...string) error { return s.opts.Talk.Say(r.Context(), user, id, q.Text, before...) }
	var err error
	if s.opts.Views != nil {
		err = s.opts.Views.Ask(user, id, say)
	} else {
		err = say()
	}
	s.respond(w, r, id, err)
}

func (s *Site) edit(w http.ResponseWriter, r *http.Request, user string) {
	var q struct {
		question
		Seq   uint64 `json:"seq"`
		Index int    `json:"index"`
	}
	if !readJSON(w, r, &q) {
		return
	}
	id, err := s.opts.Talk.Edit(r.Context(), user, r.PathValue("id"), q.Seq, q.Index, q.Text)
	s.respond(w, r, id, err)
}

func (s *Site) answer(w http.ResponseWriter, r *http.Request, user string) {
	var a talk.Answer
	if !readJSON(w, r, &a) {
		return
	}
	id := r.PathValue("id")
	s.respond(w, r, id, s.opts.Talk.Answer(r.Context(), user, id, a))
}

func (s *Site) stop(w http.ResponseWriter, r *http.Request, user string) {
	id := r.PathValue("id")
	s.respond(w, r, id, s.opts.Talk.Stop(r.Context(), user, id))
}

func (s *Site) delete(w http.ResponseWriter, r *http.Request, user string) {
	id := r.PathValue("id")
	if s.opts.Views != nil {
		s.opts.Views.EndConversation(user, id)
	}
	s.respond(w, r, id, s.opts.Talk.Delete(r.Context(), user, id))
}

// media serves a picture or sound of a tool, in a type that cannot contain scripts.
func (s *Site) media(w http.ResponseWriter, r *http.Request, user string) {
	seq, wrongSeq := strconv.ParseUint(r.PathValue("seq"), 10, 64)
	index, wrongIndex := strconv.Atoi(r.PathValue("index"))
	n, wrong := strconv.Atoi(r.PathValue("n"))
	if cmp.Or(wrongSeq, wrongIndex, wrong) != nil {
		writeError(w, http.StatusNotFound, talk.ErrGone.Error())
		return
	}
	part, err := s.opts.Talk.Media(r.Context(), user, r.PathValue("id"), seq, index, r.PathValue("call"), n)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", part.MIMEType)
	h.Set("Content-Length", strconv.Itoa(len(part.Data)))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	_, _ = w.Write(part.Data) // an error means that the browser is gone
}

// respond answers with the id of the conversation, or the error.
func (s *Site) respond(w http.ResponseWriter, r *http.Request, id string, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusAccepted, map[string]string{"id": id})
}

// fail answers with an error. Details that are not the user's fault are only logged.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	if form, ok := errors.AsType[*talk.FormError](err); ok {
		writeJSON(w, http.StatusUnprocessableEntity, map[string]any{"error": form.Error(), "fields": form.Fields})
		return
	}
	if status, text := s.describe(r, err); status != 0 {
		writeError(w, status, text)
	}
}

// describe returns the status for an error, and its text for the user. Status 0 means that the
// browser is gone.
func (s *Site) describe(r *http.Request, err error) (status int, text string) {
	switch {
	case errors.Is(err, talk.ErrUnfit):
		return http.StatusUnprocessableEntity, err.Error()
	case errors.Is(err, talk.ErrGone):
		return http.StatusNotFound, err.Error()
	case errors.Is(err, talk.ErrBusy), errors.Is(err, talk.ErrWaiting), errors.Is(err, talk.ErrElsewhere):
		return http.StatusConflict, err.Error()
	case errors.Is(err, talk.ErrFull):
		return http.StatusInsufficientStorage, err.Error()
	case errors.Is(err, talk.ErrTooMany):
		return http.StatusTooManyRequests, err.Error()
	case errors.Is(err, context.Canceled):
		return 0, ""
	}
	s.opts.Logger.Error("a request has failed", "path", r.URL.Path, "error", err)
	return http.StatusInternalServerError, "something went wrong; the log of the server says what"
}

// readJSON decodes the body, or answers that it is invalid.
func readJSON(w http.ResponseWriter, r *http.Request, v any) bool {
	err := hosting.DecodeJSON(r.Body, v)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		writeError(w, http.StatusRequestEntityTooLarge, "the request has more than "+strconv.Itoa(maxBody)+" bytes")
		return false
	}
	if err != nil {
		writeError(w, http.StatusBadRequest, "the request is not JSON of the expected shape")
		return false
	}
	return true
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // an error means that the browser is gone
}

func writeError(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"error": text})
}
