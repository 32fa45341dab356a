package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// wire stands between a model and its server: it counts requests and connections, and may answer itself.
type wire struct {
	transport *http.Transport

	mu              sync.Mutex
	requests, dials int
	last            []byte // request
	refusals        int    // requests to answer as a llama-server that loads its model
}

func newWire() *wire {
	w := &wire{}
	w.transport = &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		w.mu.Lock()
		w.dials++
		w.mu.Unlock()
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}}
	return w
}

// RoundTrip sends a request.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if w.refuses(body) {
		return http.ReadResponse(bufio.NewReader(strings.NewReader(loading)), r)
	}
	return w.transport.RoundTrip(r)
}

// refuses notes a request, and reports whether it is refused.
func (w *wire) refuses(body []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.last = w.requests+1, body
	w.refusals--
	return w.refusals >= 0
}

// loading is what a llama-server answers while it loads its model.
const loading = "HTTP/1.1 503 Service Unavailable\r\nServer: llama.cpp\r\nContent-Type: application/json\r\nContent-Length: 75\r\n\r\n" +
	`{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`
