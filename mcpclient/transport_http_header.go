package mcpclient

import (
	"maps"
	"net/http"
	"slices"
	"sync"
)

// fields are some of an HTTP header, of which a request has too few for a map.
// Their values are shared: nobody changes them in place.
type fields []field

type field struct {
	key    string
	values []string // nil for a field that is not sent
}

// own is a header that shares nothing.
func (f fields) own() http.Header {
	h := make(http.Header, len(f))
	for _, field := range f {
		h[field.key] = slices.Clone(field.values)
	}
	return h
}

// of returns the values of a field, nil where it is not there.
func (f fields) of(key string) []string {
	for _, field := range f {
		if field.key == key {
			return field.values
		}
	}
	return nil
}

func (f fields) has(key string) bool {
	return slices.ContainsFunc(f, func(f field) bool { return f.key == key })
}

// with returns the fields and those of more, in memory of their own.
func (f fields) with(more ...field) fields { return slices.Concat(f, more) }

// defaultFields are the fixed fields of a transport without a Header.
var defaultFields = sync.OnceValue(func() fields { return fields{{"User-Agent", []string{userAgent()}}} })

// fixedFields are those that every request has. Names that differ in case only
// are one field.
func fixedFields(h http.Header) fields {
	if len(h) == 0 {
		return defaultFields()
	}
	all := make(http.Header, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		key := http.CanonicalHeaderKey(name)
		all[key] = append(all[key], h[name]...)
	}
	fixed := make(fields, 0, len(all)+1)
	if _, ok := all["User-Agent"]; !ok {
		fixed = append(fixed, defaultFields()...)
	}
	for key, values := range all {
		fixed = append(fixed, field{key, slices.Clip(values)})
	}
	return fixed
}

// header makes the header of a request. What is for this
// request wins over what is for all, the last of its fields over others of the same
// name, and what the transport demands over that.
func (c *httpConn) header(method string, m *outgoing, accept []string) http.Header {
	s := m.session.Load()
	size := len(c.fixed) + len(m.header) + 2 // Content-Type and Accept
	if m.token.Value != "" {
		size++
	}
	if s != nil {
		size++
	}
	h := make(http.Header, size) // a map of more than 8 costs twice as much
	for _, f := range c.fixed {
		h[f.key] = f.values
	}
	for _, f := range m.header {
		h[f.key] = f.values
	}
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
	if s != nil && s.id != nil {
		h[sessionHeader] = s.id
	}
	return h
}

var (
	contentJSON  = []string{mediaJSON}
	acceptStream = []string{mediaStream}
)

// userAgent is what the transport calls itself where its Header does not say.
func userAgent() string {
	if v := moduleVersion(); isToken(v) {
		return "mcpchain/" + v
	}
	return "mcpchain"
}
