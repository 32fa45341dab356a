package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/reach"
)

// routes returns the handler of the service. A user's runs have the user as their tenant, so
// that nobody sees another's.
func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	detail := s.forUser(s.detail)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("detail") {
			detail.ServeHTTP(w, r)
			return
		}
		s.health(w, r)
	})
	mux.Handle("POST /runs", s.forUser(s.begin))
	mux.Handle("GET /runs", s.forUser(inTime(s.list)))
	mux.Handle("GET /runs/{run}", s.forUser(inTime(s.show)))
	mux.Handle("GET /runs/{run}/events", s.forUser(s.events))
	mux.Handle("POST /runs/{run}/answers", s.forUser(s.answer))
	mux.Handle("DELETE /runs/{run}", s.forUser(inTime(s.remove)))
	routes := hosting.Routes(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.proxies.HasSender(r) && r.Header.Get("X-Forwarded-Proto") == "https" {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		routes.ServeHTTP(w, r)
	})
}

// health answers with the health of the service: it works if the store answers.
func (s *service) health(w http.ResponseWriter, r *http.Request) {
	if err := hosting.CheckStore(r.Context(), s.store); err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// serverState is the state of a server in this process.
type serverState struct {
	Name  string `json:"name"`
	State string `json:"state"` // ready, or down: it is tried again
	Tools int    `json:"tools"`
}

// detail answers a user with the state of the servers. The log says why one is down.
func (s *service) detail(w http.ResponseWriter, r *http.Request, _ caller) error {
	if err := hosting.CheckStore(r.Context(), s.store); err != nil {
		return err
	}
	states := []serverState{}
	if s.servers != nil {
		for _, server := range s.servers() {
			state := serverState{server.Name, "ready", len(server.Tools)}
			if server.Err != nil || server.Ended != nil || s.watch.IsDown(server.Name) {
				state.State = "down"
			}
			states = append(states, state)
		}
	}
	hosting.WriteJSON(w, http.StatusOK, map[string]any{"servers": states})
	return nil
}

// caller is the user of a request.
type caller struct {
	*tenant
	name string
}

// key returns the key of a run of the caller.
func (c caller) key(r *http.Request) run.Key { return run.Key{Tenant: c.name, ID: r.PathValue("run")} }

// demo are the tokens of the users of a demonstration.
var demo = map[string]string{"demo-ada": "ada", "demo-bob": "bob"}

// userOf returns the user of a request by its bearer token, "" if it has none.
func (s *service) userOf(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	user, _, ok := s.users.Find(strings.TrimSpace(token))
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return user
}

// forUser serves requests of users within their limits, and answers with the error of serve. Everybody knows the tokens of
// demo users: they count only at this machine's own names, because the DNS entry of a foreign page may point here.
func (s *service) forUser(serve func(http.ResponseWriter, *http.Request, caller) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.reloadUsers == nil && !reach.ThisMachine((&url.URL{Host: r.Host}).Hostname()) {
			s.fail(w, r, hosting.Refuse(http.StatusMisdirectedRequest, "demo users are served only at localhost; -users names other users"))
			return
		}
		name := s.userOf(r)
		if name == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			s.fail(w, r, hosting.Refuse(http.StatusUnauthorized, "want Authorization: Bearer TOKEN, with the token of a user"))
			return
		}
		err := s.limits.rates.Allow(w, name)
		if err == nil {
			t, leave := s.limits.beginRequest(name)
			defer leave()
			err = serve(w, r, caller{t, name})
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

// requestWait is how long the work on a request may take once its body is read: a database may hang. Streams have no such bound.
const requestWait = 10 * time.Second

// inTime returns a handler of requests without a body whose work takes at most requestWait.
func inTime(serve func(http.ResponseWriter, *http.Request, caller) error) func(http.ResponseWriter, *http.Request, caller) error {
	return func(w http.ResponseWriter, r *http.Request, c caller) error {
		ctx, cancel := context.WithTimeout(r.Context(), requestWait)
		defer cancel()
		return serve(w, r.WithContext(ctx), c)
	}
}

// Bounds of the body of a request.
const (
	maxInput   = 64 << 10 // bytes of the body that begins a run
	maxAnswer  = 1 << 20  // bytes of the body with answers
	maxAnswers = 16       // answers in it
)

// runJSON is what a user sees of a run. The state itself stays in the service: it contains secrets of servers, and must
// not come back from a client.
type runJSON struct {
	Run      string          `json:"run"`
	Status   run.Status      `json:"status"`
	Position string          `json:"position"` // where the stream of events continues
	Answer   string          `json:"answer,omitempty"`
	Stop     string          `json:"stop,omitempty"`  // why the run ended
	Error    string          `json:"error,omitempty"` // why a run failed
	Asks     []*run.Question `json:"asks,omitempty"`  // the questions without an answer
	Messages []run.Message   `json:"messages"`
	Spent    run.Usage       `json:"spent"`
}

// show answers with the state of a run.
func (s *service) show(w http.ResponseWriter, r *http.Request, c caller) error {
	log, err := s.store.LoadCurrent(r.Context(), c.key(r))
	if err != nil {
		return err
	}
	state, err := ledger.StateOf(log.Records)
	if err != nil {
		return err
	}
	asks, err := log.Questions()
	if err != nil {
		return err
	}
	hosting.WriteJSON(w, http.StatusOK, runJSON{
		Run:      state.ID,
		Status:   state.Status,
		Position: agent.Position{Seq: state.Seq}.String(),
		Answer:   state.Output,
		Stop:     state.Stop,
		Error:    state.Error,
		Asks:     asks,
		Messages: state.History,
		Spent:    state.Spent,
	})
	return nil
}

// events streams the events of a run until the client is gone or does not read, the token is revoked, or the process
// stops. The end of the run does not end the stream.
func (s *service) events(w http.ResponseWriter, r *http.Request, c caller) error {
	end, ok := s.limits.openStream(c.tenant)
	if !ok {
		return hosting.Refuse(http.StatusTooManyRequests, "too many event streams")
	}
	defer end()
	ctx, endCheck := hosting.WhileSignedIn(r.Context(), func() bool { return s.userOf(r) == c.name })
	defer endCheck()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	s.feed.Serve(w, r.WithContext(ctx), c.key(r))
	return nil
}

// answer accepts replies to questions of a run, all or none of them. The token says who replies.
func (s *service) answer(w http.ResponseWriter, r *http.Request, c caller) error {
	var body []struct {
		Ask       string          `json:"ask"`
		Action    run.Action      `json:"action"`
		Reason    string          `json:"reason"`
		Arguments json.RawMessage `json:"arguments"`
		Content   json.RawMessage `json:"content"`
		Scope     string          `json:"scope"`
	}
	if err := hosting.ReadJSON(w, r, maxAnswer, &body); err != nil {
		return err
	}
	if n := len(body); n == 0 || n > maxAnswers {
		return hosting.Refuse(http.StatusBadRequest, "%d answers: want 1 to %d", n, maxAnswers)
	}
	var answers []run.Reply
	for _, a := range body {
		answers = append(answers, run.Reply{
			Question:  a.Ask,
			Action:    a.Action,
			Reason:    a.Reason,
			Arguments: a.Arguments,
			Content:   a.Content,
			Scope:     a.Scope,
			By:        c.name,
		})
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestWait)
	defer cancel()
	if err := s.engine.answer(ctx, c.key(r), answers); err != nil {
		return err
	}
	s.feed.Wake(c.key(r))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// remove stops a run, or with ?forget=true deletes one that has ended.
func (s *service) remove(w http.ResponseWriter, r *http.Request, c caller) error {
	switch r.URL.Query().Get("forget") {
	case "", "false":
		return s.stop(w, r, c)
	case "true":
		return s.forget(w, r, c)
	}
	return hosting.Refuse(http.StatusBadRequest, "forget: want true or false")
}

// stop cancels a run. One that has ended stays as it is.
func (s *service) stop(w http.ResponseWriter, r *http.Request, c caller) error {
	key := c.key(r)
	if _, err := s.head(r.Context(), key); err != nil {
		return err
	}
	if err := s.engine.stop(r.Context(), key); err != nil {
		return err
	}
	s.feed.Wake(key)
	w.WriteHeader(http.StatusAccepted) // with Temporal the run ends a moment later
	return nil
}

// forget deletes a run that has ended.
func (s *service) forget(w http.ResponseWriter, r *http.Request, c caller) error {
	key := c.key(r)
	head, err := s.head(r.Context(), key)
	if err != nil {
		return err
	}
	if !head.Status.Ended() {
		return hosting.Refuse(http.StatusConflict, "the run is not over; stop it first")
	}
	if err := s.store.Delete(r.Context(), key); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// codes are the HTTP statuses and texts of errors that a user may see. "" stands for the error's own text.
var codes = []struct {
	err  error
	code int
	text string
}{
	{record.ErrNotFound, http.StatusNotFound, "there is no such run"},
	{run.ErrNotAsked, http.StatusConflict, "the question is not open"},
	{record.ErrReplied, http.StatusConflict, "the question has another answer already"},
	{run.ErrExpired, http.StatusGone, "the question has expired"},
	{run.ErrUnfit, http.StatusUnprocessableEntity, ""}, // it names the field
	{record.ErrHeld, http.StatusServiceUnavailable, "the run is busy; try again"},
	{agent.ErrPosition, http.StatusBadRequest, "the run has no such event"},
	{eventfeed.ErrTooManyReaders, http.StatusServiceUnavailable, "there are too many event streams; try again"},
}

// fail answers with the status and text of describe.
func (s *service) fail(w http.ResponseWriter, r *http.Request, err error) {
	code, text := s.describe(r, err)
	hosting.WriteError(w, code, text)
}

// describe returns the HTTP status for an error, and its text for the user. An error that the user must not see has a
// general text, and is logged unless the client is gone or the store cannot be reached.
func (s *service) describe(r *http.Request, err error) (code int, text string) {
	if refused, ok := errors.AsType[hosting.Refusal](err); ok {
		return refused.Status, refused.Text
	}
	for _, known := range codes {
		switch {
		case !errors.Is(err, known.err):
		case known.text == "":
			return known.code, fmt.Sprintf("%.1000s", err)
		default:
			return known.code, known.text
		}
	}
	away := isUnreachable(err) || hosting.CheckStore(r.Context(), s.store) != nil
	if !away && r.Context().Err() == nil {
		s.logger.Error("a request has failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if away || database.IsUnavailable(err) {
		return http.StatusServiceUnavailable, "the service cannot be reached in full; try again"
	}
	return http.StatusInternalServerError, "the service has failed"
}
