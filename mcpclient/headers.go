package mcpclient

import "net/http"

// targetMember returns the member of params with the name of a request's target, which the
// Mcp-Name header repeats, or "".
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

// ownHeader returns a header for a connection that may modify it.
func ownHeader(shared http.Header) http.Header {
	if shared == nil {
		return http.Header{}
	}
	return shared.Clone()
}
