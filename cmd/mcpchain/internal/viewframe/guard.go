package viewframe

import (
	"mime"
	"net/http"
)

// Policy returns the Content-Security-Policy of a page that shows views. The page loads its own files, and frames the
// sandbox at the origin frames, none if that is "". media has more directives, for pictures and sound. Trusted types
// keep the script of the page from turning text into HTML or script.
func Policy(frames, media string) string {
	policy := "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'; " + media
	if frames != "" {
		policy += "; frame-src " + frames
	}
	return policy
}

// Protect sets the headers of a response that keep other sites and the page's own mistakes from doing harm.
func Protect(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // an address may have a secret
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// IsJSON reports whether the type of a request's body is JSON, which a form of another site cannot send.
func IsJSON(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}
