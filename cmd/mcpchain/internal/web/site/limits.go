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
	// PerMinute bounds a user's changing requests, and an address's attempts to sign in; Burst
	// of them may come at once. Default 120 and 30.
	PerMinute, Burst int

	// ReadsPerMinute bounds a user's other requests; ReadBurst of them may come at once.
	// Opening a conversation reads all of it. Default 600 and 120.
	ReadsPerMinute, ReadBurst int

	// Streams bounds the open windows of a user, and AllStreams those of all users. Default 12
	// and 2,000.
	Streams, AllStreams int
}

func (l Limits) withDefaults() Limits {
	l.PerMinute, l.Burst = cmp.Or(l.PerMinute, 120), cmp.Or(l.Burst, 30)
	l.ReadsPerMinute, l.ReadBurst = cmp.Or(l.ReadsPerMinute, 600), cmp.Or(l.ReadBurst, 120)
	l.Streams, l.AllStreams = cmp.Or(l.Streams, 12), cmp.Or(l.AllStreams, 2000)
	return l
}

// streams counts the windows with streams, and ends the streams of a session.
type streams struct {
	each, all int

	mu      sync.Mutex // guards the following fields
	of      map[string]int
	total   int
	session map[string][]*place
}

// place is a stream that is being served.
type place struct {
	reader  string
	windows int
	end     context.CancelFunc
}

func newStreams(l Limits) *streams {
	return &streams{each: l.Streams, all: l.AllStreams, of: map[string]int{}, session: map[string][]*place{}}
}

// take reserves a place for a stream of n windows until leave is called, if there is room. It
// ends an earlier stream of the same reader and session, so that a reconnecting browser need
// not wait until the end of that one is noticed.
func (s *streams) take(p Person, reader string, n int, end context.CancelFunc) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, before := range slices.Clone(s.session[p.Session]) {
		if reader != "" && before.reader == reader {
			before.end()
			s.leaveLocked(p, before)
		}
	}
	if s.of[p.User]+n > s.each || s.total+n > s.all {
		return nil, false
	}
	s.of[p.User] += n
	s.total += n
	mine := &place{reader, n, end}
	s.session[p.Session] = append(s.session[p.Session], mine)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leaveLocked(p, mine)
	}, true
}

// leaveLocked frees a place, if the stream still has it.
func (s *streams) leaveLocked(p Person, mine *place) {
	at := slices.Index(s.session[p.Session], mine)
	if at < 0 {
		return
	}
	s.total -= mine.windows
	if s.of[p.User] -= mine.windows; s.of[p.User] == 0 {
		delete(s.of, p.User)
	}
	if s.session[p.Session] = slices.Delete(s.session[p.Session], at, at+1); len(s.session[p.Session]) == 0 {
		delete(s.session, p.Session)
	}
}

// end ends the streams of a session.
func (s *streams) end(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.session[session] {
		p.end()
	}
}

// addressOf returns the address from which a request comes, or the network of an IPv6 address. A
// trusted proxy names the address of the browser.
func (s *site) addressOf(r *http.Request) string {
	address := r.RemoteAddr
	if at, err := netip.ParseAddrPort(address); err == nil {
		address = at.Addr().String()
	}
	if values := r.Header.Values(s.opts.AddressHeader); len(values) > 0 && s.opts.Proxies.Sent(r) {
		last := values[len(values)-1]
		address = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
	}
	if parsed, err := netip.ParseAddr(address); err == nil {
		return bounded.Network(parsed).String()
	}
	return address
}
