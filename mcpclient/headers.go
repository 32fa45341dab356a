package mcpclient

import "net/http"

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

// ownHeader is a header for a connection that may change it.
func ownHeader(shared http.Header) http.Header {
	if shared == nil {
		return http.Header{}
	}
	return shared.Clone()
}
