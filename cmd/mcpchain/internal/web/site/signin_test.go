package site_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/site"
	"github.com/mcpchain/mcpchain/internal/check"
)

// redirecting is a sign-in by a provider: GET /sign-in leads there, and /sign-in/callback back.
type redirecting struct {
	provider string

	mu    sync.Mutex // guards the field below
	users map[string]string
}

func (s *redirecting) Person(r *http.Request) (site.Person, bool) {
	cookie, err := r.Cookie("session")
	if err != nil {
		return site.Person{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	user, ok := s.users[cookie.Value]
	return site.Person{User: user, Session: "of " + user}, ok
}

func (s *redirecting) Choices() site.Choices { return site.Choices{} }

func (s *redirecting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/sign-in" {
		state := rand.Text()
		http.SetCookie(w, &http.Cookie{Name: "state", Value: state, Path: "/sign-in", HttpOnly: true, SameSite: http.SameSiteLaxMode})
		http.Redirect(w, r, s.provider+"?state="+state+"&back="+url.QueryEscape("http://"+r.Host+"/sign-in/callback"), http.StatusFound)
		return
	}
	state, err := r.Cookie("state")
	if err != nil || state.Value != r.URL.Query().Get("state") {
		http.Error(w, "begin again", http.StatusForbidden)
		return
	}
	session := rand.Text()
	s.mu.Lock()
	s.users[session] = r.URL.Query().Get("code")
	s.mu.Unlock()
	http.SetCookie(w, &http.Cookie{Name: "session", Value: session, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s *redirecting) SignOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie("session"); err == nil {
		s.mu.Lock()
		delete(s.users, cookie.Value)
		s.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"location":"` + s.provider + `"}`))
}

// TestSignInByProvider replaces the demo's sign-in with one that leads to a provider and back.
func TestSignInByProvider(t *testing.T) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		http.Redirect(w, r, query.Get("back")+"?code=Ada&state="+query.Get("state"), http.StatusFound)
	}))
	t.Cleanup(provider.Close)
	signIn := &redirecting{provider: provider.URL, users: map[string]string{}}
	w := serveFor(t, signIn, site.Limits{}, record.NewMemory(), agenttest.PlayRepeating(agenttest.Say("hello")))
	w.Client().Jar = check.Value(cookiejar.New(nil))(t)
	t.Cleanup(func() { w.Client().Jar = nil })
	get := func(path string, change ...func(*http.Request)) string {
		_, _, body := w.do(t, "", "GET", path, "", change...)
		return body
	}
	check.Equal(t, "before: no user, and none to choose from", get("/api/me"), `{"names":null}`+"\n")
	foreign := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	check.Equal(t, "an answer that was not asked for", w.status(t, "", "GET", "/sign-in/callback?code=Eve&state=x", "", foreign), 403)
	check.Equal(t, "the page", w.status(t, "", "GET", "/sign-in", "", foreign), 200)
	check.Contains(t, "the page", get("/sign-in", foreign), "<!doctype html>")
	check.Contains(t, "after", get("/api/me"), `"user":"Ada"`)
	w.begin(t, "", "hello")
	_, _, body := w.do(t, "", "POST", "/api/sign-out", `{}`)
	check.Contains(t, "the provider's page", body, provider.URL)
	check.Equal(t, "after the sign-out", w.status(t, "", "POST", "/api/conversations", `{"text":"hello"}`), 401)
	over, end := context.WithCancel(t.Context())
	end()
	for _, path := range []string{"/api/me", "/api/events"} { // a page that thinks that nobody is signed in drops what is being filled in
		answer := httptest.NewRecorder()
		w.Config.Handler.ServeHTTP(answer, httptest.NewRequestWithContext(over, "GET", w.URL+path, nil))
		check.Equal(t, path+" while the program ends", answer.Code, 503)
	}
}
