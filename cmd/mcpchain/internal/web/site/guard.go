package site

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
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
		opensPage := r.Method == http.MethodGet && r.URL.Path == "/"
		switch {
		case !slices.Contains(o.Hosts, host) && r.URL.Path != healthPath:
			hosting.WriteError(w, http.StatusMisdirectedRequest, "this host is not served here; see the flag -origin")
		case opensPage && o.Canonical != "" && o.Canonical != "http://"+host: // a cookie belongs to one name
			http.Redirect(w, r, o.Canonical+"/", http.StatusTemporaryRedirect)
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

// Limits bound users' requests. Zero means the default.
type Limits struct {
	// PerMinute bounds a user's changing requests, and an address's requests to sign in or out; Burst of them may come
	// at once. Default 120 and 30.
	PerMinute, Burst int

	// ReadsPerMinute bounds a user's other requests; ReadBurst of them may come at once.
	// Opening a conversation reads all of it. Default 600 and 120.
	ReadsPerMinute, ReadBurst int

	// Streams bounds the open windows of a user, and AllStreams the windows of all users. Default 12
	// and 2,000.
	Streams, AllStreams int
}

func (l Limits) withDefaults() Limits {
	l.PerMinute, l.Burst = cmp.Or(l.PerMinute, 120), cmp.Or(l.Burst, 30)
	l.ReadsPerMinute, l.ReadBurst = cmp.Or(l.ReadsPerMinute, 600), cmp.Or(l.ReadBurst, 120)
	l.Streams, l.AllStreams = cmp.Or(l.Streams, 12), cmp.Or(l.AllStreams, 2000)
	return l
}

// streams are the streams that are being served. The number of their windows is bounded.
type streams struct {
	each, all int // maximum number of windows of a user, and of all users

	mu     sync.Mutex // guards the following field
	places []*place
}

// place is a stream that is being served.
type place struct {
	person  Person
	reader  string // names the browser window or tab that reads the stream; may be ""
	windows int
	end     context.CancelFunc
}

// reserve reserves a place for a stream of n windows until leave is called, if there is room. It ends an earlier stream
// of the same reader and session, so that a browser that reconnects gets its place at once.
func (s *streams) reserve(p Person, reader string, n int, end context.CancelFunc) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places = slices.DeleteFunc(s.places, func(before *place) bool {
		again := reader != "" && before.reader == reader && before.person.Session == p.Session
		if again {
			before.end()
		}
		return again
	})
	own, all := n, n
	for _, other := range s.places {
		all += other.windows
		if other.person.User == p.User {
			own += other.windows
		}
	}
	if own > s.each || all > s.all {
		return nil, false
	}
	mine := &place{p, reader, n, end}
	s.places = append(s.places, mine)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.places = slices.DeleteFunc(s.places, func(other *place) bool { return other == mine })
	}, true
}

// end ends the streams of a session.
func (s *streams) end(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.places {
		if p.person.Session == session {
			p.end()
		}
	}
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
