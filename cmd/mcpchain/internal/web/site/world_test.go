package site_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/site"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/internal/check"
)

// headerSignIn takes the user from a header: the seam of a sign-in. A proxy has signed Linus in.
type headerSignIn struct{}

func (headerSignIn) Person(r *http.Request) (site.Person, bool) {
	name := r.Header.Get("X-Test-User")
	if name == "Linus" {
		return site.Person{User: name}, true
	}
	return site.Person{User: name, Session: "of " + name}, name != ""
}
func (headerSignIn) Choices() site.Choices { return site.Choices{Names: []string{"Ada"}} }
func (headerSignIn) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
}
func (headerSignIn) SignOut(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(map[bool]int{true: http.StatusConflict, false: http.StatusNoContent}[r.Header.Get("X-Test-User") == "Linus"])
}

// world is a site on a server.
type world struct {
	*httptest.Server
	stop func() // ends the process, so to speak
}

func serve(t testing.TB, limits site.Limits, store record.Store, model agent.Model, tools ...adapter.Source) *world {
	t.Helper()
	return serveFor(t, headerSignIn{}, limits, store, model, tools...)
}

func serveFor(t testing.TB, signIn site.SignIn, limits site.Limits, store record.Store, model agent.Model, tools ...adapter.Source) *world {
	t.Helper()
	service := check.Value(talk.New(talk.Options{Model: model, Store: store, Tools: tools}))(t)
	w := &world{Server: httptest.NewUnstartedServer(nil)}
	w.Config.Handler = site.New(site.Options{Talk: service, SignIn: signIn, Hosts: []string{w.Listener.Addr().String()}, Limits: limits})
	ctx, cancel := context.WithCancel(context.Background())
	w.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	w.Start()
	w.stop = sync.OnceFunc(func() {
		cancel()
		w.CloseClientConnections()
		w.Close()
		service.Close()
	})
	t.Cleanup(w.stop)
	return w
}

// do sends a request of a user, "" for one who is not signed in.
func (w *world) do(t testing.TB, user, method, path, body string, change ...func(*http.Request)) (int, http.Header, string) {
	t.Helper()
	r := check.Value(http.NewRequestWithContext(t.Context(), method, w.URL+path, strings.NewReader(body)))(t)
	r.Header.Set("X-Test-User", user)
	r.Header.Set("Content-Type", "application/json")
	for _, f := range change {
		f(r)
	}
	res := check.Value(w.Client().Do(r))(t)
	defer res.Body.Close()
	return res.StatusCode, res.Header, string(check.Value(io.ReadAll(res.Body))(t))
}

func (w *world) status(t testing.TB, user, method, path, body string, change ...func(*http.Request)) int {
	t.Helper()
	status, _, answer := w.do(t, user, method, path, body, change...)
	t.Logf("%s %s: %d %.200s", method, path, status, answer)
	return status
}

// post sends a request that has to succeed, and returns the id of the conversation.
func (w *world) post(t testing.TB, user, path string, body any) string {
	t.Helper()
	status, _, answer := w.do(t, user, "POST", path, string(check.Value(json.Marshal(body))(t)))
	var out struct{ ID string }
	err := json.Unmarshal([]byte(answer), &out)
	check.Require(t, err == nil && status == http.StatusAccepted, "POST %s: got %d %s", path, status, answer)
	return out.ID
}

func (w *world) begin(t testing.TB, user, text string) string {
	t.Helper()
	return w.post(t, user, "/api/conversations", map[string]string{"text": text})
}

func (w *world) answer(t testing.TB, user, id string, body map[string]any) {
	t.Helper()
	w.post(t, user, "/api/conversations/"+id+"/answers", body)
}

type event struct {
	Type, ID string
	Window   string // of a stream for several
	Data     json.RawMessage
}

func (e event) member(t testing.TB, name string) string {
	t.Helper()
	var members map[string]any
	check.Must(t, json.Unmarshal(e.Data, &members))
	return fmt.Sprint(members[name])
}

type window struct {
	body   io.ReadCloser
	lines  *bufio.Reader
	cancel context.CancelFunc
}

func (w *world) watch(t testing.TB, user, id, after string) *window {
	t.Helper()
	out, status := w.open(t, user, id, after)
	check.Require(t, status == http.StatusOK, "GET /api/events: got %d", status)
	return out
}

// watchOnce opens a window as soon as there is room for one more.
func (w *world) watchOnce(t testing.TB, user, id string) *window {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		out, status := w.open(t, user, id, "")
		if status == http.StatusOK {
			return out
		}
		check.Require(t, status == http.StatusTooManyRequests && !time.Now().After(end), "GET /api/events: got %d", status)
		out.close()
	}
}

func (w *world) open(t testing.TB, user, id, after string) (*window, int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := check.Value(http.NewRequestWithContext(ctx, "GET", w.URL+"/api/events?conversation="+id+"&after="+after, nil))(t)
	r.Header.Set("X-Test-User", user)
	res := check.Value(w.Client().Do(r))(t)
	out := &window{res.Body, bufio.NewReader(res.Body), cancel}
	t.Cleanup(out.close)
	return out, res.StatusCode
}

func (w *window) close() {
	w.cancel()
	_ = w.body.Close()
}

// next returns the next event. It waits as long as the server keeps the stream alive, which it does every 15 s: a busy
// machine is no failure.
func (w *window) next(t testing.TB) (e event) {
	t.Helper()
	timer := time.AfterFunc(time.Minute, w.cancel)
	defer timer.Stop()
	for {
		line, err := w.lines.ReadBytes('\n')
		timer.Reset(time.Minute)
		check.Require(t, err == nil, "read the stream: %v", err)
		line = bytes.TrimSuffix(line, []byte("\n"))
		field, value, _ := strings.Cut(string(line), ": ")
		switch {
		case field == "event":
			e.Type = value
		case field == "window":
			e.Window = value
		case field == "id":
			e.ID = value
		case field == "data":
			e.Data = json.RawMessage(value)
		case len(line) == 0 && e.Type != "":
			return e
		}
	}
}

func (w *window) ends(t testing.TB) {
	t.Helper()
	late := time.AfterFunc(time.Minute, w.cancel)
	_, err := io.Copy(io.Discard, w.lines)
	check.That(t, err == nil && late.Stop(), "the stream continues; %v", err)
}

// until returns the events with a position up to the first one of a type.
func (w *window) until(t testing.TB, kind string) (out []event) {
	t.Helper()
	for {
		e := w.next(t)
		if e.ID == "" && e.Type != kind {
			continue
		}
		if out = append(out, e); e.Type == kind {
			return out
		}
	}
}

func (w *window) last(t testing.TB, kind string) event {
	t.Helper()
	events := w.until(t, kind)
	return events[len(events)-1]
}

func (w *window) works(t testing.TB) {
	t.Helper()
	for {
		if e := w.next(t); e.Type == "now" && e.member(t, "working") == "true" {
			return
		}
	}
}

func kinds(events []event) string {
	var out []string
	for _, e := range events {
		out = append(out, e.Type)
	}
	return strings.Join(out, " ")
}
