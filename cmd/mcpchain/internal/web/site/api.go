package site

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/access"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/viewing"
)

// route serves requests of signed-in users, with their body of type T.
func route[T any](s *site, rates *hosting.Rates, serve func(r *http.Request, user string, body T) (reply, error)) http.HandlerFunc {
	return s.asUser(rates, func(w http.ResponseWriter, r *http.Request, user string) error {
		var body T
		if _, isNone := any(body).(none); !isNone {
			if err := hosting.ReadJSON(w, r, maxBody, &body); err != nil {
				return err
			}
		}
		answer, err := serve(r, user, body)
		if err != nil {
			return err
		}
		if answer.status == http.StatusNoContent {
			w.WriteHeader(answer.status)
			return nil
		}
		hosting.WriteJSON(w, answer.status, answer.body)
		return nil
	})
}

// reply is the answer to a request that has no error.
type reply struct {
	status int
	body   any // as JSON
}

// found answers with a value.
func found(body any, err error) (reply, error) { return reply{http.StatusOK, body}, err }

// done answers with nothing.
func done(err error) (reply, error) { return reply{status: http.StatusNoContent}, err }

// accepted answers with the id of a conversation, in whose stream the rest comes.
func accepted(id string, err error) (reply, error) {
	return reply{http.StatusAccepted, map[string]string{"id": id}}, err
}

type (
	none     struct{} // for a request whose body does not matter
	question struct {
		Text string `json:"text"`
	}
	replacement struct { // a question that replaces another one
		question
		Seq   uint64 `json:"seq"`   // the record with the old question
		Index int    `json:"index"` // its message in the record
	}
)

// begin begins a conversation.
func (s *site) begin(r *http.Request, user string, q question) (reply, error) {
	return accepted(s.opts.Talk.Begin(r.Context(), user, q.Text))
}

// say asks another question. What the views of the conversation want the model to know comes before it.
func (s *site) say(r *http.Request, user string, q question) (reply, error) {
	id := r.PathValue("id")
	ask := func(before ...string) error { return s.opts.Talk.Say(r.Context(), user, id, q.Text, before...) }
	if s.opts.Views != nil {
		return accepted(id, s.opts.Views.WithContexts(user, id, ask))
	}
	return accepted(id, ask())
}

// retry continues a turn that has failed.
func (s *site) retry(r *http.Request, user string, _ none) (reply, error) {
	return accepted(r.PathValue("id"), s.opts.Talk.Retry(r.Context(), user, r.PathValue("id")))
}

// edit begins a conversation with a question that replaces another one.
func (s *site) edit(r *http.Request, user string, q replacement) (reply, error) {
	return accepted(s.opts.Talk.Edit(r.Context(), user, r.PathValue("id"), q.Seq, q.Index, q.Text))
}

// answer answers a question to the user, such as an approval or a form of a server.
func (s *site) answer(r *http.Request, user string, a talk.Reply) (reply, error) {
	return accepted(r.PathValue("id"), s.opts.Talk.Reply(r.Context(), user, r.PathValue("id"), a))
}

// stop ends the turn.
func (s *site) stop(r *http.Request, user string, _ none) (reply, error) {
	return accepted(r.PathValue("id"), s.opts.Talk.Stop(r.Context(), user, r.PathValue("id")))
}

// delete deletes a conversation, and ends its views first.
func (s *site) delete(r *http.Request, user string, _ none) (reply, error) {
	if s.opts.Views != nil {
		s.opts.Views.EndConversation(user, r.PathValue("id"))
	}
	return accepted(r.PathValue("id"), s.opts.Talk.Delete(r.Context(), user, r.PathValue("id")))
}

// older answers with the conversations that follow one in the list: its id is the parameter after, and its time in the
// list the parameter updated.
func (s *site) older(r *http.Request, user string, _ none) (reply, error) {
	query := r.URL.Query()
	at, err := time.Parse(time.RFC3339Nano, query.Get("updated"))
	if err != nil {
		return reply{}, hosting.Refuse(http.StatusBadRequest, "updated is not a time")
	}
	list, more, err := s.opts.Talk.List(r.Context(), user, query.Get("after"), at)
	return found(map[string]any{"list": list, "more": more}, err)
}

// dropRule revokes a decision of a user for later calls.
func (s *site) dropRule(r *http.Request, user string, _ none) (reply, error) {
	if !s.opts.Rules.Drop(user, r.PathValue("rule")) {
		return done(hosting.Refuse(http.StatusNotFound, "there is no such rule"))
	}
	return done(nil)
}

// media serves a picture or sound of a tool, in a type that cannot contain scripts.
func (s *site) media(w http.ResponseWriter, r *http.Request, user string) error {
	seq, seqErr := strconv.ParseUint(r.PathValue("seq"), 10, 64)
	index, indexErr := strconv.Atoi(r.PathValue("index"))
	n, nErr := strconv.Atoi(r.PathValue("n"))
	if cmp.Or(seqErr, indexErr, nErr) != nil {
		return talk.ErrGone
	}
	part, err := s.opts.Talk.Media(r.Context(), user, r.PathValue("id"), seq, index, r.PathValue("call"), n)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", part.MIMEType)
	h.Set("Content-Length", strconv.Itoa(len(part.Data)))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	_, _ = w.Write(part.Data) // an error means that the browser is gone
	return nil
}

// fail answers with the status and text of describe, or, for a form, with 422 and the mistakes of its fields.
func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	if form, ok := errors.AsType[*talk.FormError](err); ok {
		hosting.WriteJSON(w, http.StatusUnprocessableEntity, map[string]any{"error": form.Error(), "fields": form.Fields})
		return
	}
	status, text := s.describe(r, err)
	hosting.WriteError(w, status, text)
}

// statuses are the statuses of errors whose texts are for the user.
var statuses = []struct {
	err    error
	status int
}{
	{talk.ErrUnfit, http.StatusUnprocessableEntity},
	{talk.ErrGone, http.StatusNotFound},
	{talk.ErrBusy, http.StatusConflict},
	{talk.ErrWaiting, http.StatusConflict},
	{talk.ErrElsewhere, http.StatusConflict},
	{talk.ErrFull, http.StatusInsufficientStorage}, // the user has to delete something
	{talk.ErrTooMany, http.StatusTooManyRequests},
	{viewing.ErrTooMany, http.StatusTooManyRequests},
	{viewing.ErrNoView, http.StatusNotFound},
	{access.ErrNoServer, http.StatusNotFound},
	{access.ErrFull, http.StatusTooManyRequests}, // there may be room later
}

// statusOf returns the status of an error whose text is for the user, 0 for another error.
func statusOf(err error) int {
	for _, known := range statuses {
		if errors.Is(err, known.err) {
			return known.status
		}
	}
	return 0
}

// describe returns the status for an error, and its text for the user. An error that is not for the user has a general
// text, and is logged unless the request was cancelled.
func (s *site) describe(r *http.Request, err error) (status int, text string) {
	if refused, ok := errors.AsType[hosting.Refusal](err); ok {
		return refused.Status, refused.Text
	}
	if status := statusOf(err); status != 0 {
		return status, err.Error()
	}
	if errors.Is(err, context.Canceled) { // the program ends, or the browser is gone
		return http.StatusServiceUnavailable, "the program ends; try again"
	}
	s.opts.Logger.Error("a request has failed", "path", r.URL.Path, "error", err)
	return http.StatusInternalServerError, "something went wrong; the log of the server says what"
}
