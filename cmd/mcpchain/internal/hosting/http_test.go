package hosting_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestRoutes answers in JSON without a route, and redirects to a clean path without a word.
func TestRoutes(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /list", func(w http.ResponseWriter, _ *http.Request) { hosting.WriteJSON(w, http.StatusOK, 1) })
	routes := hosting.Routes(mux)
	for _, tt := range []struct {
		method, path string
		status       int
		text         string // in the body; "": the body says nothing of a path
	}{
		{"GET", "/list", http.StatusOK, "1"},
		{"GET", "/other", http.StatusNotFound, `{"error":"there is no such path"}`},
		{"POST", "/list", http.StatusMethodNotAllowed, `{"error":"the path has no such method"}`},
		{"GET", "/a/../list", http.StatusTemporaryRedirect, ""},
		{"GET", "//other", http.StatusTemporaryRedirect, ""},
		{"DELETE", "//list", http.StatusTemporaryRedirect, ""},
	} {
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, httptest.NewRequest(tt.method, "http://host"+tt.path, nil))
		body := strings.TrimSpace(w.Body.String())
		check.That(t, w.Code == tt.status && strings.Contains(body, tt.text) && (tt.text != "" || !strings.Contains(body, "path")),
			"%s %s: got %d %s, want %d %s", tt.method, tt.path, w.Code, body, tt.status, tt.text)
		check.Equal(t, tt.path+": redirected", w.Header().Get("Location") != "", tt.text == "")
	}
}

// TestReadJSON says which value of a body has the wrong type.
func TestReadJSON(t *testing.T) {
	for body, want := range map[string]string{
		`{"list":{}}`:  "List is a JSON object: want a list",
		`{"n":"x"}`:    "N is a JSON string: want a number",
		`{"yes":1}`:    "Yes is a JSON number: want true or false",
		`{"text":1}`:   "Text is a JSON number: want a text in quotes",
		`{"object":1}`: "Object is a JSON number: want an object in {braces}",
		`[]`:           "the body is a JSON array: want an object in {braces}",
		`{"lists":1}`:  `unknown field "lists"`,
		`{} {}`:        "there is more than one value",
		`{"text":"` + strings.Repeat("x", 200) + `"}`: "the body has more than 100 bytes",
	} {
		var v struct {
			List   []int
			N      float64
			Yes    bool
			Text   string
			Object struct{}
		}
		err := hosting.ReadJSON(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader(body)), 100, &v)
		check.Text(t, err, want)
		check.That(t, err != nil && !strings.Contains(err.Error(), "json:"), "got %v, want no word of the library", err)
	}
}
