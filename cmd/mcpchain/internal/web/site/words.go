package site

import (
	"encoding/json"
	"html/template"
	"net/http"
	"strings"
)

// words is a page with one text.
var words = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<link rel="icon" href="/page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/page/base.css">
<link rel="stylesheet" href="/page/layout.css">
<main class="sign-in"><h1>{{.Title}}</h1><p>{{.Text}}</p><p><a href="/">Open the page</a></p></main>
</html>
`))

// WritePage answers a navigation with a page of text.
func WritePage(w http.ResponseWriter, status int, title, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = words.Execute(w, struct{ Title, Text string }{title, text}) // an error means that the browser is gone
}

// inWords converts the errors of a navigation to pages of text, because a person reads them.
type inWords struct {
	http.ResponseWriter
	failed int  // status of an error, 0 without one
	over   bool // its page is written
}

// Unwrap is for [http.ResponseController].
func (w *inWords) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter]. The header of an error waits for its text, unless
// the error is a page already.
func (w *inWords) WriteHeader(status int) {
	if status >= 400 && !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		w.failed = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter]. The first call has the text of an error; nothing else of it is written.
func (w *inWords) Write(p []byte) (int, error) {
	if w.failed == 0 {
		return w.ResponseWriter.Write(p)
	}
	if !w.over {
		var said struct{ Error string }
		if json.Unmarshal(p, &said) != nil {
			said.Error = strings.TrimSpace(string(p))
		}
		title := http.StatusText(w.failed)
		if w.failed == http.StatusUnauthorized {
			title = "You are not signed in"
		}
		WritePage(w.ResponseWriter, w.failed, title, "The page says: "+said.Error+".")
		w.over = true
	}
	return len(p), nil
}

// isNavigation reports whether a person will see the response itself, as far as the browser says so.
func isNavigation(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.Header.Get("Sec-Fetch-Mode") == "navigate" || strings.Contains(r.Header.Get("Accept"), "text/html"))
}
