package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// floorHTTP is the floor over net/http: a POST for each request. It reads the
// whole response and then decodes it.
type floorHTTP struct {
	url  string
	http *http.Client
	last atomic.Int64
}

// bodies are the buffers for responses.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// newFloorHTTP makes the floor. It has no default HTTP client.
func newFloorHTTP(e endpoint) *floorHTTP {
	f := &floorHTTP{url: e.url, http: e.httpClient}
	if f.http == nil {
		f.http = sharedClient
	}
	return f
}

// exchange sends a request and reads the whole response: JSON, or a stream of one event.
func (f *floorHTTP) exchange(ctx context.Context, r floorRequest) (*floorMessage, error) {
	id := f.last.Add(1)
	resp, err := f.post(ctx, &r, id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", r.method, resp.Status)
	}
	body := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(body)
	body.Reset()
	if resp.ContentLength > 0 {
		body.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(resp.Body); err != nil {
		return nil, err
	}
	data := body.Bytes()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		_, data, _ = bytes.Cut(data, []byte("data: "))
		data, _, _ = bytes.Cut(data, []byte("\n"))
	}
	m := &floorMessage{}
	err = json.Unmarshal(data, m)
	if err == nil && m.ID != id {
		err = fmt.Errorf("%s: a response to %d instead of %d", r.method, m.ID, id)
	}
	return m, err
}

func (f *floorHTTP) notify(ctx context.Context, r floorRequest) error {
	resp, err := f.post(ctx, &r, 0)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// post sends a request, with the id 0 as a notification. The caller closes the body.
func (f *floorHTTP) post(ctx context.Context, r *floorRequest, id int64) (*http.Response, error) {
	body := bytes.NewReader(r.appendTo(make([]byte, 0, 512), id))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, body)
	if err != nil {
		return nil, err
	}
	request.Header = r.header()
	return f.http.Do(request)
}

// header is the HTTP header of the request.
func (r *floorRequest) header() http.Header {
	h := http.Header{
		"Content-Type":         {"application/json"},
		"Accept":               {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {legacy},
	}
	if r.modern {
		h["Mcp-Protocol-Version"] = []string{modern}
		h["Mcp-Method"] = []string{r.method}
		if r.tool != "" {
			h["Mcp-Name"] = []string{r.tool}
		}
	}
	return h
}

func (f *floorHTTP) close() error { return nil }
