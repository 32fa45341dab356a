package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
)

// wire carries requests to a server. It counts connections and keeps the latest request.
type wire struct {
	transport *http.Transport

	mu    sync.Mutex
	dials int
	last  []byte
}

// newWire returns a wire with connections of its own, which are dialed as those of base.
func newWire(base *http.Transport) *wire {
	w := &wire{transport: base.Clone()}
	w.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		w.mu.Lock()
		w.dials++
		w.mu.Unlock()
		return base.DialContext(ctx, network, address)
	}
	return w
}

// RoundTrip sends a request.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.last = body
	w.mu.Unlock()
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return w.transport.RoundTrip(r)
}
