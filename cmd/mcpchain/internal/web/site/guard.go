package site

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// guarded refuses requests that do not come from the page, and sets the security headers. The
// sandbox of views may be framed if there is one.
func guarded(o *Options, next http.Handler) http.Handler {
	policy := viewframe.Policy(o.FrameOrigin, "img-src 'self'; media-src 'self'")
	protection := http.NewCrossOriginProtection() // by Sec-Fetch-Site and Origin, for requests that change something
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		viewframe.Protect(h, policy)
		if o.Secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		api := strings.HasPrefix(r.URL.Path, "/api/")
		if api {
			h.Set("Cache-Control", "no-store")
		}
		host := strings.ToLower(r.Host)
		known := slices.Contains(o.Hosts, host)
		switch {
		case known && o.Canonical != "" && "http://"+host != o.Canonical && r.Method == http.MethodGet && r.URL.Path == "/":
			http.Redirect(w, r, o.Canonical+"/", http.StatusTemporaryRedirect) // a cookie belongs to one name
		case !known && r.URL.Path != healthPath:
			hosting.WriteError(w, http.StatusMisdirectedRequest, "this host is not served here; see the flag -origin")
		case api && isForeign(r), protection.Check(r) != nil:
			hosting.WriteError(w, http.StatusForbidden, "the request comes from another site")
		case r.Method == http.MethodPost && !viewframe.IsJSON(r):
			hosting.WriteError(w, http.StatusUnsupportedMediaType, "send application/json")
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			next.ServeHTTP(w, r)
		}
	})
}

// isForeign reports whether the browser says that another site made the request, even one that only
// reads, such as for one of our pictures on another page. A client that does not say so is not
// foreign.
func isForeign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}
