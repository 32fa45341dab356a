package wire

import "net/http"

// Transient reports whether an HTTP status is about the server's state rather than the request:
// 408, 429 and 5xx.
func Transient(status int) bool {
	return status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}
