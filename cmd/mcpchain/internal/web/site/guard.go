package site

import (
	"mime"
	"net/http"
	"slices"
	"strings"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// policy lets the page load its own files and nothing else. It has no script or style within the
// HTML, and no function of the page can turn a text into HTML or script.
const policy = "default-src 'none'; FRAMESscript-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guarded refuses what does not come from the page, and tells the browser what the page
// needs.
// A sandbox of views may be framed if there is one.
func guarded(o *Options, next http.Handler) http.Handler {
	frames := o.FrameOrigin
	if frames != "" {
		frames = "frame-src " + frames + "; "
	}
	policy := strings.Replace(policy, "FRAMES", frames, 1)
	// A form or script of another site is told by Sec-Fetch-Site, and by Origin.
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
			http.Redirect(w, r, o.Canonical+"/", http.StatusTemporaryRedirect) // cookies are for one name
		case !slices.Contains(o.Hosts, strings.ToLower(r.Host)) && r.URL.Path != healthPath:
			writeError(w, http.StatusMisdirectedRequest, "this host is not served here; see the flag -origin")
		case api && isForeign(r):
			writeError(w, http.StatusForbidden, "the request comes from another site")
		case r.Method == http.MethodPost && !isJSON(r):
			writeError(w, http.StatusUnsupportedMediaType, "send application/json")
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			next.ServeHTTP(w, r)
		}
	})
}

// isForeign reports whether a browser says that another site has made the request: also one that
// reads, such as a picture of ours on another page.
func isForeign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// isJSON reports whether the body is JSON by its type, which a form of another site cannot send.
func isJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}
