package streamable

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient/internal/version"
)

// canonical returns a copy of h in which names that differ in case only are one field;
// nil if h is empty.
func canonical(h http.Header) http.Header {
	if len(h) == 0 {
		return nil
	}
	own := make(http.Header, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		key := http.CanonicalHeaderKey(name)
		own[key] = append(own[key], h[name]...)
	}
	return own
}

// header makes the header of a request. What is for this
// request wins over what is for all, and what the transport demands over that.
func (c *conn) header(method string, m *message, accept []string) http.Header {
	s := m.session
	size := len(c.own) + len(m.header) + 3 // User-Agent, Content-Type and Accept
	if m.token.Value != "" {
		size++
	}
	if s != nil {
		size++
	}
	h := make(http.Header, size) // a map of more than 8 costs twice as much
	h["User-Agent"] = userAgent()
	maps.Copy(h, c.own)
	maps.Copy(h, m.header)
	switch method {
	case http.MethodPost:
		h["Content-Type"] = contentJSON
		h["Accept"] = accept
	case http.MethodGet:
		h["Accept"] = acceptStream
	}
	if m.token.Value != "" {
		h["Authorization"] = []string{"Bearer " + m.token.Value}
	}
	if s != nil && s.id != "" {
		h[sessionHeader] = []string{s.id}
	}
	return h
}

var (
	contentJSON  = []string{mediaJSON}
	acceptStream = []string{mediaStream}

	// userAgent is what the transport calls itself if its Header does not say.
	userAgent = sync.OnceValue(func() []string {
		if v := version.Module(); !strings.ContainsAny(v, " ()") {
			return []string{"mcpchain/" + v}
		}
		return []string{"mcpchain"}
	})
)
