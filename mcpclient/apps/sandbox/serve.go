package sandbox

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

//go:embed proxy.html
var page string

// maxMessage bounds messages through the proxy, in UTF-16 units of JSON.
const maxMessage = 20 << 20

// ServeHTTP serves the page for a frame's URL, and nothing else.
func (s *Sandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	host := plainHost(s.origin.scheme, r.Host)
	if !s.serves(host) {
		refuse(w, "this is not the origin of the sandbox", http.StatusMisdirectedRequest)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse(w, "want GET", http.StatusMethodNotAllowed)
		return
	}
	settings, ok := s.settings(host, r.URL)
	if !ok {
		refuse(w, "there is no such view", http.StatusNotFound)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy(settings.CSP, settings.Host))
	h.Set("Permissions-Policy", permissionsPolicy(settings.Permissions))
	values := strings.NewReplacer(
		"HOST_ORIGIN", quoted(settings.Host),
		"OWN_ORIGIN", strconv.FormatBool(s.below != ""),
		"MAX_MESSAGE", strconv.Itoa(maxMessage),
		"ALLOW", quoted(allow(settings.Permissions)),
	)
	_, _ = values.WriteString(w, page)
}

// refuse answers with a page in which nothing runs.
func refuse(w http.ResponseWriter, why string, status int) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	http.Error(w, why, status)
}

// quoted returns a string literal for the page's script.
func quoted(s string) string {
	b, err := json.Marshal(s) // it escapes what could end the script
	if err != nil {
		panic(err)
	}
	return string(b)
}

// serves reports whether a host is the sandbox's, or one label in place of its star.
func (s *Sandbox) serves(host string) bool {
	if s.below == "" {
		return host == s.origin.host
	}
	label, isBelow := strings.CutSuffix(host, "."+s.below)
	return isBelow && !strings.Contains(label, ".")
}
