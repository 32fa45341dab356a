package page_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/page"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestNoHTMLFromText keeps out of the page what the content security policy forbids, and what makes HTML or script of a text.
func TestNoHTMLFromText(t *testing.T) {
	unwanted := map[string]*regexp.Regexp{
		".html": regexp.MustCompile(`<style|\sstyle=|\son\w+=|<script(?:[^>]*)>[^<]|https?://`),
		".js":   regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser|srcdoc|\.style\b`),
		".css":  regexp.MustCompile(`@import|url\(|expression\(`),
	}
	paths, err := filepath.Glob("files/*")
	check.Require(t, err == nil && len(paths) >= 10, "got %d files, %v", len(paths), err)
	for _, path := range append(paths, "../../viewframe/frame.js") {
		data := check.Value(os.ReadFile(path))(t)
		if r := unwanted[filepath.Ext(path)]; r != nil {
			for _, found := range r.FindAll(data, -1) {
				t.Errorf("%s has %q", path, found)
			}
		}
	}
}

func TestHandler(t *testing.T) {
	h := page.Handler()
	get := func(path, tag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("If-None-Match", tag)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for path, kind := range map[string]string{"/": "text/html; charset=utf-8", "/page/main.js": "text/javascript; charset=utf-8", "/page/base.css": "text/css; charset=utf-8"} {
		w := get(path, "")
		check.That(t, w.Code == 200 && w.Header().Get("Content-Type") == kind, "%s: got %d %q, want %q", path, w.Code, w.Header().Get("Content-Type"), kind)
		w = get(path, w.Header().Get("ETag"))
		check.That(t, w.Code == 304, "%s again: got %d, want 304", path, w.Code)
	}
	for _, path := range []string{"/page/", "/page/../page.go", "/page/files/main.js", "/page/none.js"} {
		w := get(path, "")
		check.That(t, w.Code == 404, "%s: got %d, want 404", path, w.Code)
	}
}
