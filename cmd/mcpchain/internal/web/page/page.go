// Package page contains the files of the page: HTML, styles and JavaScript modules.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
)

//go:embed files
var files embed.FS

var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// file is a file with its entity tag, by which a browser asks whether it has changed.
type file struct {
	data      []byte
	kind, tag string
}

func fileOf(name string, data []byte) file {
	hash := sha256.Sum256(data)
	return file{data, types[path.Ext(name)], `"` + hex.EncodeToString(hash[:8]) + `"`}
}

// Handler serves / and the files below /page/.
func Handler() http.Handler {
	entries, err := files.ReadDir("files")
	if err != nil {
		panic(err) // the files are part of the program
	}
	all := map[string]file{"frame.js": fileOf("frame.js", viewframe.Script)}
	for _, entry := range entries {
		data, err := files.ReadFile("files/" + entry.Name())
		if err != nil {
			panic(err)
		}
		all[entry.Name()] = fileOf(entry.Name(), data)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "index.html"
		if r.URL.Path != "/" {
			name = strings.TrimPrefix(r.URL.Path, "/page/")
		}
		f, ok := all[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", f.kind)
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", f.tag)
		if r.Header.Get("If-None-Match") == f.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(f.data) // an error means that the browser is gone
	})
}
