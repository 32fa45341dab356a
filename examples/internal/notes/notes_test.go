package notes

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestRefuses tries what a stranger could try.
func TestRefuses(t *testing.T) {
	t.Parallel()
	s, err := Start()
	check.Must(t, err)
	defer s.Close()
	s.clients["c"] = []string{"http://127.0.0.1/back"}
	s.codes["code"] = authorization{"c", "http://127.0.0.1/back", "a challenge"}
	for path, form := range map[string]url.Values{
		"/authorize?client_id=c&redirect_uri=http://evil.example/&code_challenge=x&code_challenge_method=S256": {},
		"/authorize?client_id=c&redirect_uri=http://127.0.0.1/back&code_challenge_method=S256":                 {},
		"/token": {"client_id": {"c"}, "redirect_uri": {"http://127.0.0.1/back"}, "code": {"code"}, "code_verifier": {"guessed"}},
	} {
		resp, err := http.PostForm(s.issuer+path, form)
		check.Must(t, err)
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: got %s, want a refusal", path, resp.Status)
		}
	}
	if len(s.codes) != 0 {
		t.Error("a code can be tried again")
	}
}

// unlockedWriter is a response that fails the test if it is written while the server is locked: a
// client that does not read would then lock out all others.
type unlockedWriter struct {
	*httptest.ResponseRecorder
	t *testing.T
	s *Server
}

func (w unlockedWriter) WriteHeader(status int) {
	w.check()
	w.ResponseRecorder.WriteHeader(status)
}

func (w unlockedWriter) Write(data []byte) (int, error) {
	w.check()
	return w.ResponseRecorder.Write(data)
}

func (w unlockedWriter) check() {
	if !w.s.mu.TryLock() {
		w.t.Error("a response is written while the server is locked")
		return
	}
	w.s.mu.Unlock()
}

// TestSignIn registers a program, signs in and gets a token. The program gets the query of its own redirect URI back.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s, err := Start()
	check.Must(t, err)
	defer s.Close()
	do := func(method, path, body string, status int) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		w := unlockedWriter{httptest.NewRecorder(), t, s}
		s.server.Handler.ServeHTTP(w, r)
		if w.Code != status {
			t.Fatalf("%s %s: got %d, %s, want %d", method, path, w.Code, w.Body, status)
		}
		return w.ResponseRecorder
	}
	const redirect = "http://127.0.0.1/back?tenant=7"
	var client struct {
		ID string `json:"client_id"`
	}
	check.Must(t, json.Unmarshal(do("POST", "/register", `{"redirect_uris":["`+redirect+`"]}`, http.StatusCreated).Body.Bytes(), &client))

	sum := sha256.Sum256([]byte("verifier"))
	page := "/authorize?" + url.Values{
		"client_id": {client.ID}, "redirect_uri": {redirect}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode()
	do("GET", "/authorize?client_id=unknown", "", http.StatusBadRequest)
	check.Contains(t, "the page", do("GET", page, "", http.StatusOK).Body.String(), "Sign in as Ada")
	back, err := url.Parse(do("POST", page, "", http.StatusSeeOther).Header().Get("Location"))
	check.Must(t, err)
	answer := back.Query()
	code := answer.Get("code")
	answer.Del("code")
	check.Equal(t, "the answer besides the code", answer.Encode(), url.Values{"tenant": {"7"}, "state": {"s"}, "iss": {s.issuer}}.Encode())

	form := url.Values{"client_id": {client.ID}, "redirect_uri": {redirect}, "code": {code}, "code_verifier": {"verifier"}}.Encode()
	var got struct {
		Token string `json:"access_token"`
	}
	check.Must(t, json.Unmarshal(do("POST", "/token", form, http.StatusOK).Body.Bytes(), &got))
	check.Must(t, check.Err(s.verify(t.Context(), got.Token, nil)))
	do("POST", "/token", form, http.StatusBadRequest)
}
