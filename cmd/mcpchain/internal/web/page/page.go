// Package page contains the files of the page: HTML, styles and JavaScript modules.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
)

//go:embed files
var files embed.FS

// types are the types of the files, by the ends of their names.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Handler serves / and the files below /page/. Browsers keep the files, and ask each time whether they have changed.
func Handler() http.Handler {
	entries, err := files.ReadDir("files")
	if err != nil {
		panic(err) // the files are part of the program
	}
	all := map[string][]byte{"frame.js": viewframe.Script}
	tags := map[string]string{} // ETag by file
	for _, entry := range entries {
		if all[entry.Name()], err = files.ReadFile("files/" + entry.Name()); err != nil {
			panic(err)
		}
	}
	for name, data := range all {
		tags[name] = fmt.Sprintf(`"%.8x"`, sha256.Sum256(data))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "index.html"
		if r.URL.Path != "/" {
			name = strings.TrimPrefix(r.URL.Path, "/page/")
		}
		data, ok := all[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", types[path.Ext(name)])
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", tags[name])
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	})
}
