// Package redirect bounds where an HTTP client follows a server.
package redirect

import (
	"fmt"
	"net/http"

	"github.com/mcpchain/mcpchain/internal/reach"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
)

const maxRedirects = 5

// SameOrigin is a CheckRedirect of [http.Client]. It allows 5 redirects, and refuses those that
// would send a message to another origin or without its body. Its errors say which URL to use.
func SameOrigin(req *http.Request, via []*http.Request) error {
	first := via[0]
	if reach.Origin(req.URL) != reach.Origin(first.URL) {
		return fmt.Errorf("redirect to another origin refused: use the URL %s if you trust it", redact.URL(req.URL))
	}
	if req.Method != first.Method {
		return fmt.Errorf("redirect that would turn %s into %s refused: use the URL %s if that is the server; "+
			"it should redirect with status 307 or 308", first.Method, req.Method, redact.URL(req.URL))
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if credentials, ok := first.Header["Authorization"]; ok {
		req.Header["Authorization"] = credentials // net/http drops it if the host is written in another way
	}
	return nil
}
