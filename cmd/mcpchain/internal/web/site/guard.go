package site

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// guarded sets the security headers, and passes on the requests that may reach the routes. The first rule that applies
// answers the others: another host name is refused, unless a probe asks; the page redirects to Canonical; a request of
// another site is refused, and then a POST without JSON. The body is bounded. The sandbox of views may be framed if
// there is one.
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
		opensPage := r.Method == http.MethodGet && r.URL.Path == "/"
		switch {
		case !slices.Contains(o.Hosts, host) && r.URL.Path != healthPath:
			hosting.WriteError(w, http.StatusMisdirectedRequest, "this host is not served here; see the flag -origin")
		case opensPage && o.Canonical != "" && o.Canonical != host: // a cookie belongs to one name
			http.Redirect(w, r, "http://"+o.Canonical+"/", http.StatusTemporaryRedirect)
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

// isForeign reports whether the browser says that another site made the request, even one that only reads, such as for
// one of our pictures on another page. A client that does not say so is not foreign.
func isForeign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

// addressOf returns the address from which a request comes, or the network of an IPv6 address. If a trusted proxy names
// the address of the browser, it is that one.
func (s *site) addressOf(r *http.Request) string {
	from := r.RemoteAddr
	if values := r.Header.Values(s.opts.AddressHeader); len(values) > 0 && s.opts.Proxies.HasSender(r) {
		last := values[len(values)-1]
		from = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	}
	if at, err := netip.ParseAddrPort(from); err == nil { // some proxies name the port, too
		return bounded.Network(at.Addr()).String()
	}
	if address, err := netip.ParseAddr(from); err == nil {
		return bounded.Network(address).String()
	}
	return from
}
