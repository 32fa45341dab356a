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
)

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
	address := r.RemoteAddr
	if at, err := netip.ParseAddrPort(address); err == nil {
		address = at.Addr().String()
	}
	if values := r.Header.Values(s.opts.AddressHeader); len(values) > 0 && s.opts.Proxies.HasSender(r) {
		last := values[len(values)-1]
		address = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	}
	if parsed, err := netip.ParseAddr(address); err == nil {
		return bounded.Network(parsed).String()
	}
	return address
}
