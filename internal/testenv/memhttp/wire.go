package memhttp

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// Wire answers the requests of a client with prepared JSON bodies, at least one, in turn. It repeats the last one, and
// keeps the requests. It is for one request at a time.
type Wire struct {
	Replies  []string
	Requests []map[string]any
}

// Do answers a request whose body is a JSON object, with status 200.
func (w *Wire) Do(r *http.Request) (*http.Response, error) {
	var request map[string]any
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return nil, err
	}
	reply := w.Replies[min(len(w.Requests), len(w.Replies)-1)]
	w.Requests = append(w.Requests, request)
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(reply)),
		Request:    r,
	}, nil
}
