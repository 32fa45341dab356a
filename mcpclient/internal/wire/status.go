package wire

import "net/http"

// Transient reports an HTTP status that is about the server's state and not about the request:
// 408, 429 and 5xx.
func Transient(status int) bool {
	return status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}
