package site

import (
	"html/template"
	"net/http"
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
