package site

import (
	"encoding/json"
	"html/template"
	"net/http"
	"strings"
)

// textTemplate is a page with a title and a text.
var textTemplate = template.Must(template.New("").Parse(`<!doctype html>
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
	_ = textTemplate.Execute(w, struct{ Title, Text string }{title, text}) // an error means that the browser is gone
}

// textPage converts the errors of a navigation to pages of text, because a person reads them.
type textPage struct {
	http.ResponseWriter
	failed  int  // status of an error, 0 without one
	written bool // the page of the error was written
}

// Unwrap is for [http.ResponseController].
func (w *textPage) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements [http.ResponseWriter]. The header of an error waits for its text, unless
// the error is a page already.
func (w *textPage) WriteHeader(status int) {
	if status >= 400 && !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		w.failed = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter]. After the header of an error, the first call has the error's text; later calls write nothing.
func (w *textPage) Write(p []byte) (int, error) {
	if w.failed == 0 {
		return w.ResponseWriter.Write(p)
	}
	if !w.written {
		var body struct{ Error string }
		if json.Unmarshal(p, &body) != nil {
			body.Error = strings.TrimSpace(string(p))
		}
		title := http.StatusText(w.failed)
		if w.failed == http.StatusUnauthorized {
			title = "You are not signed in"
		}
		WritePage(w.ResponseWriter, w.failed, title, "The page says: "+body.Error+".")
		w.written = true
	}
	return len(p), nil
}

// isNavigation reports whether a person will see the response itself, as far as the browser says so.
func isNavigation(r *http.Request) bool {
	return r.Method == http.MethodGet && (r.Header.Get("Sec-Fetch-Mode") == "navigate" || strings.Contains(r.Header.Get("Accept"), "text/html"))
}
