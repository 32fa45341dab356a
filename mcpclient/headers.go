package mcpclient

import (
	"net/http"
	"slices"
)

// targetMember is the member of params with the name of a request's target. The
// Mcp-Name header repeats it; "" if there is none.
func targetMember(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		return "taskId"
	}
	return ""
}

// fields are the few header fields of one message. Their values are shared: do
// not change them in place.
type fields []field

type field struct {
	key    string
	values []string
}

// own returns a header that shares nothing.
func (f fields) own() http.Header {
	h := f.shared()
	for key, values := range h {
		h[key] = slices.Clone(values)
	}
	return h
}

// shared returns a header with shared values: do not change them.
func (f fields) shared() http.Header {
	h := make(http.Header, len(f))
	for _, field := range f {
		h[field.key] = field.values
	}
	return h
}
