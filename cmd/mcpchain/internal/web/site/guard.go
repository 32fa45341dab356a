package site

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// policy lets the page load only its own files. The HTML has no inline script or style, and the
// page cannot convert text to HTML or script.
const policy = "default-src 'none'; FRAMESscript-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guarded refuses requests that do not come from the page, and sets the security headers. The
// sandbox of views may be framed if there is one.
func guarded(o *Options, next http.Handler) http.Handler {
	frames := o.FrameOrigin
	if frames != "" {
		frames = "frame-src " + frames + "; "
	}
	policy := strings.Replace(policy, "FRAMES", frames, 1)
	// Sec-Fetch-Site and Origin reveal forms and scripts of other sites.
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		if o.Secure {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		api := strings.HasPrefix(r.URL.Path, "/api/")
		if api {
			h.Set("Cache-Control", "no-store")
		}
		if isNavigation(r) {
			w = &inWords{ResponseWriter: w}
		}
		switch {
		case o.Canonical != "" && r.Method == http.MethodGet && r.URL.Path == "/" && slices.Contains(o.Hosts, strings.ToLower(r.Host)) && "http://"+strings.ToLower(r.Host) != o.Canonical:
			http.Redirect(w, r, o.Canonical+"/", http.StatusTemporaryRedirect) // a cookie belongs to one name
		case !slices.Contains(o.Hosts, strings.ToLower(r.Host)) && r.URL.Path != healthPath:
			hosting.WriteError(w, http.StatusMisdirectedRequest, "this host is not served here; see the flag -origin")
		case api && isForeign(r):
			hosting.WriteError(w, http.StatusForbidden, "the request comes from another site")
		case r.Method == http.MethodPost && !isJSON(r):
			hosting.WriteError(w, http.StatusUnsupportedMediaType, "send application/json")
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			next.ServeHTTP(w, r)
		}
	})
}

// isForeign reports whether the browser says that another site made the request, even one that
// only reads, such as for one of our pictures on another page.
func isForeign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// isJSON reports whether the type of the body is JSON, which a form of another site cannot
// send.
func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}
