package streamable

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/version"
)

// fixedHeader is what the header of every request has. Names that differ in case only
// are one field.
func fixedHeader(h http.Header) http.Header {
	fixed := http.Header{"User-Agent": {userAgent()}}
	own := make(http.Header, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		key := http.CanonicalHeaderKey(name)
		own[key] = append(own[key], h[name]...)
	}
	maps.Copy(fixed, own)
	return fixed
}

// header makes the header of a request. What is for this
// request wins over what is for all, and what the transport demands over that.
func (c *conn) header(method string, m *message, accept []string) http.Header {
	s := m.session
	size := len(c.fixed) + len(m.header) + 2 // Content-Type and Accept
	if m.token.Value != "" {
		size++
	}
	if s != nil {
		size++
	}
	h := make(http.Header, size) // a map of more than 8 costs twice as much
	maps.Copy(h, c.fixed)
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
)

// userAgent is what the transport calls itself where its Header does not say.
func userAgent() string {
	if v := version.Module(); !strings.ContainsAny(v, " ()") {
		return "mcpchain/" + v
	}
	return "mcpchain"
}
