package fakehost

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

// Prepared is a host that answers with a handler and keeps the bodies of its requests.
type Prepared struct {
	*memhttp.Server
	Log[string]
}

// Prepare starts a host for a test.
func Prepare(t testing.TB, h http.HandlerFunc) *Prepared {
	t.Helper()
	p := &Prepared{}
	p.Server = memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read request: %v", err)
		}
		p.Record(string(body), nil)
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// Asked counts the requests so far.
func (p *Prepared) Asked() int { return len(p.Requests()) }

// Last returns the latest request.
func (p *Prepared) Last() string { return p.Requests()[p.Asked()-1] }

// Answering answers requests with these JSON bodies in turn, and repeats the last one.
func Answering(bodies ...string) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, bodies[0])
		if len(bodies) > 1 {
			bodies = bodies[1:]
		}
	}
}

// Streaming answers every request with a stream of these lines, each followed by a blank one.
func Streaming(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, line := range lines {
			_, _ = io.WriteString(w, line+"\n\n")
		}
	}
}

// EqualJSON compares JSON values.
func EqualJSON(t testing.TB, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("got no JSON: %v: %s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("want no JSON: %v: %s", err, want)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}
