package signin_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/signin"
	"github.com/mcpchain/mcpchain/internal/check"
)

func opened(t *testing.T, path string, names ...string) (*signin.Sessions, *sql.DB) {
	t.Helper()
	db := check.Value(database.Open(t.Context(), path))(t)
	t.Cleanup(func() { _ = db.Close() })
	return check.Value(signin.New(t.Context(), db.DB, signin.Users{Names: names}, false))(t), db.DB
}

func request(body string, before *httptest.ResponseRecorder) *http.Request {
	r := httptest.NewRequest("POST", "/sign-in", strings.NewReader(body))
	if before != nil {
		for _, c := range before.Result().Cookies() {
			r.AddCookie(c)
		}
	}
	return r
}

// signIn is the response to a sign-in.
func signIn(h http.Handler, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(body, nil))
	return w
}

func TestSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.db")
	d, db := opened(t, path, "Ada", "Grace")
	in := signIn(d, `{"name":"Ada"}`)
	cookies := in.Result().Cookies()
	check.Require(t, len(cookies) == 1 && cookies[0].HttpOnly && cookies[0].SameSite == http.SameSiteLaxMode && len(cookies[0].Value) >= 26,
		"got the cookies %v, want one that scripts and other sites cannot use", cookies)
	signedIn := func(d *signin.Sessions, want string) {
		t.Helper()
		p, ok := d.Person(request("", in))
		check.That(t, ok == (want != "") && (!ok || p.User == want), "got the user %q, %v, want %q", p.User, ok, want)
	}
	signedIn(d, "Ada")
	var kept string
	err := db.QueryRow(`SELECT hash FROM web_sign_ins`).Scan(&kept)
	check.That(t, err == nil && !strings.Contains(kept, cookies[0].Value), "the database has %q, %v; want a hash", kept, err)
	later, _ := opened(t, path, "Ada") // the next process
	signedIn(later, "Ada")
	without, _ := opened(t, path, "Grace") // Ada is no user any more
	signedIn(without, "")
	check.Must(t, check.Err(db.Exec(`UPDATE web_sign_ins SET expires = 1`)))
	signedIn(d, "")
	in = signIn(d, `{"name":"Ada"}`)
	signedIn(d, "Ada")
	d.SignOut(httptest.NewRecorder(), request(`{}`, in))
	signedIn(d, "")
}

// TestUnreadableSignIn says what is wrong with a body that has no name of a user and no token. A forged cookie is nobody's.
func TestUnreadableSignIn(t *testing.T) {
	d, _ := opened(t, filepath.Join(t.TempDir(), "web.db"), "Ada")
	for body, want := range map[string]string{
		`x`: "400 read the body as JSON", strings.Repeat(" ", 65<<10): "413 the body has more than", `{"name":"Bob"}`: "400 no user has",
		`{"name":""}`: "400 ", `{"name":"Ada"} {}`: "400 ",
	} {
		w := signIn(d, body)
		got := fmt.Sprint(w.Code, " ", strings.TrimPrefix(w.Body.String(), `{"error":"`))
		check.That(t, strings.HasPrefix(got, want) && len(w.Result().Cookies()) == 0, "%.20q: got %s, want %s without a cookie", body, got, want)
	}
	r := request("", nil)
	r.AddCookie(&http.Cookie{Name: "mcpchain-web", Value: "forged"})
	p, ok := d.Person(r)
	check.That(t, !ok, "a forged cookie is %q", p.User)
}

// TestSessionsOfAUser ends the oldest sessions of a user who has too many.
func TestSessionsOfAUser(t *testing.T) {
	d, db := opened(t, filepath.Join(t.TempDir(), "web.db"), "Ada", "Grace")
	grace, first := signIn(d, `{"name":"Grace"}`), signIn(d, `{"name":"Ada"}`)
	var last *httptest.ResponseRecorder
	for range signin.MaxSessions {
		last = signIn(d, `{"name":"Ada"}`)
	}
	for name, tt := range map[string]struct {
		session *httptest.ResponseRecorder
		want    bool
	}{"the oldest": {first, false}, "the newest": {last, true}, "another user's": {grace, true}} {
		_, ok := d.Person(request("", tt.session))
		check.That(t, ok == tt.want, "%s: got signed in %v, want %v", name, ok, tt.want)
	}
	var kept int
	err := db.QueryRow(`SELECT count(*) FROM web_sign_ins WHERE name = 'Ada'`).Scan(&kept)
	check.That(t, err == nil && kept == signin.MaxSessions, "the database has %d sessions, %v, want %d", kept, err, signin.MaxSessions)
}

// TestToken signs in by the token of a file. Who loses the token is signed out.
func TestToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	write := func(text string) {
		t.Helper()
		check.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("Ada 0123456789abcdef\n")
	table := check.Value(tokens.Read(path))(t)
	_, db := opened(t, filepath.Join(t.TempDir(), "web.db"))
	s := check.Value(signin.New(t.Context(), db, signin.Users{Names: []string{"Ada"}, Tokens: table}, true))(t)
	for _, body := range []string{`{"name":"Ada"}`, `{"token":""}`, `{"token":"0123456789abcdeF"}`, `{"name":"Ada","token":"x"}`} {
		w := signIn(s, body)
		check.That(t, w.Code == http.StatusBadRequest && len(w.Result().Cookies()) == 0, "%s: got %d, want 400 without a session", body, w.Code)
	}
	in := signIn(s, `{"token":" 0123456789abcdef "}`)
	p, ok := s.Person(request("", in))
	check.That(t, ok && p.User == "Ada", "got %v, %v, want Ada", p, ok)
	write("Ada fedcba9876543210\n")
	check.Must(t, check.Err(table.Reload()))
	p, ok = s.Person(request("", in))
	check.That(t, !ok, "got %v with a token that is not Ada's any more", p)
}

// TestProxy takes the user from a proxy that is trusted, and from no other machine.
func TestProxy(t *testing.T) {
	p := &signin.Proxy{Header: "X-User", Trusted: check.Value(bounded.Parse("10.0.0.0/8, ::1"))(t)}
	for _, tt := range []struct {
		from  string
		users []string
		want  string
	}{
		{"10.1.2.3:4", []string{"Ada"}, "Ada"}, {"[::ffff:10.1.2.3]:4", []string{" Ada "}, "Ada"},
		{"[::1]:4", []string{"Ada"}, "Ada"}, {"11.1.2.3:4", []string{"Ada"}, ""}, {"", []string{"Ada"}, ""},
		{"10.1.2.3:4", nil, ""}, {"10.1.2.3:4", []string{""}, ""}, {"10.1.2.3:4", []string{"Ada", "Grace"}, ""},
		{"10.1.2.3:4", []string{"A\x00da"}, ""}, {"10.1.2.3:4", []string{"J\xfcrgen"}, ""}, {"10.1.2.3:4", []string{strings.Repeat("a", 257)}, ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Header["X-User"] = tt.from, tt.users
		got, ok := p.Person(r)
		check.That(t, got.User == tt.want && ok == (tt.want != ""), "%q from %s: got %q, %v, want %q", tt.users, tt.from, got.User, ok, tt.want)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		check.That(t, w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), "<h1>You are not signed in</h1>"), "got %d %s, want a page in words", w.Code, w.Body)
	}
}
