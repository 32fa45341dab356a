package notes

import (
	"net/http"
	"net/url"
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
