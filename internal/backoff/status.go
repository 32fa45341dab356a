package backoff

import "net/http"

// IsTransient reports whether an HTTP status is about the server's state rather than the request:
// 408, 429 and 5xx.
func IsTransient(status int) bool {
	return status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}
