package mcpclient

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
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

// headerValue encodes a value for the Mcp-Name and Mcp-Param headers: plain
// ASCII unchanged, else in Base64 between markers (2026-07-28 streamable-http,
// "Value Encoding").
func headerValue(v string) string {
	const prefix, suffix = "=?base64?", "?="
	if plainHeader(v) && !(strings.HasPrefix(v, prefix) && strings.HasSuffix(v, suffix)) {
		return v
	}
	return prefix + base64.StdEncoding.EncodeToString([]byte(v)) + suffix
}

func plainHeader(v string) bool {
	for i := range len(v) {
		if v[i] < 0x20 || v[i] > 0x7e {
			return false
		}
	}
	return v == strings.TrimSpace(v)
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
