package signin_test

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/examples/web/internal/signin"
)

func opened(t *testing.T, path string, names ...string) (*signin.Demo, *sql.DB) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	d, err := signin.NewDemo(t.Context(), db, names, false)
	if err != nil {
		t.Fatal(err)
	}
	return d, db
}

// request is a request with the cookie of a response.
func request(body string, before *httptest.ResponseRecorder) *http.Request {
	r := httptest.NewRequest("POST", "/sign-in", strings.NewReader(body))
	if before != nil {
		for _, c := range before.Result().Cookies() {
			r.AddCookie(c)
		}
	}
	return r
}

func TestSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "web.db")
	d, db := opened(t, path, "Ada", "Grace")
	in := httptest.NewRecorder()
	d.ServeHTTP(in, request(`{"name":"Ada"}`, nil))
	cookies := in.Result().Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode || len(cookies[0].Value) < 26 {
		t.Fatalf("got the cookies %v, want one that scripts and other sites cannot use", cookies)
	}
	check := func(d *signin.Demo, want string) {
		t.Helper()
		if p, ok := d.Person(request("", in)); p.User != want && ok {
			t.Errorf("got the user %q, %v, want %q", p.User, ok, want)
		} else if ok != (want != "") {
			t.Errorf("got %v, want the user %q", ok, want)
		}
	}
	check(d, "Ada")
	var kept string
	if err := db.QueryRow(`SELECT hash FROM web_sessions`).Scan(&kept); err != nil || strings.Contains(kept, cookies[0].Value) {
		t.Errorf("the database has %q, %v; want a hash", kept, err)
	}
	later, _ := opened(t, path, "Ada") // the next process
	check(later, "Ada")
	without, _ := opened(t, path, "Grace") // Ada is no user any more
	check(without, "")
	if _, err := db.Exec(`UPDATE web_sessions SET expires = 1`); err != nil {
		t.Fatal(err)
	}
	check(d, "")
	again := httptest.NewRecorder()
	d.ServeHTTP(again, request(`{"name":"Ada"}`, nil))
	in = again
	check(d, "Ada")
	d.SignOut(httptest.NewRecorder(), request(`{}`, in))
	check(d, "")
}

func TestUnknownUser(t *testing.T) {
	d, _ := opened(t, filepath.Join(t.TempDir(), "web.db"), "Ada")
	for _, body := range []string{`{"name":"Eve"}`, `{"name":""}`, `x`} {
		w := httptest.NewRecorder()
		d.ServeHTTP(w, request(body, nil))
		if w.Code != http.StatusBadRequest || len(w.Result().Cookies()) != 0 {
			t.Errorf("%s: got %d with %d cookies, want 400 without", body, w.Code, len(w.Result().Cookies()))
		}
	}
	r := request("", nil)
	r.AddCookie(&http.Cookie{Name: "mcpchain-web", Value: "forged"})
	if p, ok := d.Person(r); ok {
		t.Errorf("a forged cookie is %q", p.User)
	}
}
