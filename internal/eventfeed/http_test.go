package eventfeed_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

func handler(f *eventfeed.Feed) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Serve(w, r, run.Key{Tenant: "acme", ID: strings.TrimPrefix(r.URL.Path, "/")})
	})
}

// stream asks for a stream.
func stream(t *testing.T, client *http.Client, url, last string) (*http.Response, *bufio.Scanner) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	check.Must(t, err)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := client.Do(req)
	check.Must(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp, bufio.NewScanner(resp.Body)
}

// lines reads lines that are not empty.
func lines(t *testing.T, s *bufio.Scanner, n int) (out []string) {
	t.Helper()
	for len(out) < n {
		if !s.Scan() {
			t.Fatalf("the stream ended after %q: %v", out, s.Err())
		}
		if s.Text() != "" {
			out = append(out, s.Text())
		}
	}
	return out
}

func TestServe(t *testing.T) {
	k := new(kept)
	f := eventfeed.New(&eventfeed.Options{Replay: k.Replay})
	server := httptest.NewServer(handler(f))
	t.Cleanup(server.Close)
	_, events := stream(t, server.Client(), server.URL+"/r", "")
	if got := lines(t, events, 1); got[0] != "retry: 1000" {
		t.Errorf("got %q, want the time after which to connect again", got)
	}
	turn := `data: {"type":"turn_end","run":"r","seq":%d,"time":"0001-01-01T00:00:00Z","turn":0,"messages":null}`
	for seq := range uint64(3) {
		f.Publish(key, k.turn(seq+1, 0))
		got := lines(t, events, 2) // it comes at once
		if want := fmt.Sprintf("id: %d", seq+1); got[0] != want || got[1] != fmt.Sprintf(turn, seq+1) {
			t.Errorf("got %q, want %s with its data", got, want)
		}
	}
	f.Publish(key, delta(3, "a\nb"))
	if got := lines(t, events, 1)[0]; !strings.HasPrefix(got, "data: ") || !strings.Contains(got, `"text":"a\nb"`) {
		t.Errorf("got %q, want data without an id, on one line", got)
	}
	for _, test := range []struct{ last, query, want string }{{"2", "", "id: 3"}, {"", "?after=1", "id: 2"}, {"2", "?after=1", "id: 3"}} {
		resp, again := stream(t, server.Client(), server.URL+"/r"+test.query, test.last)
		if got := lines(t, again, 2)[1]; got != test.want || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("after %+v: got %q as %q, want %s", test, got, resp.Header.Get("Content-Type"), test.want)
		}
	}
}

func TestServeRefuses(t *testing.T) {
	k := new(kept)
	f := eventfeed.New(&eventfeed.Options{Replay: k.Replay, Readers: 1})
	server := httptest.NewServer(handler(f))
	t.Cleanup(server.Close)
	for _, test := range []struct {
		path, last string
		want       int
	}{{"/other", "", 404}, {"/r", "x", 400}, {"/r", "1.2.3", 400}, {"/r", "", 200}, {"/r", "", 503}} {
		resp, _ := stream(t, server.Client(), server.URL+test.path, test.last)
		if resp.StatusCode != test.want {
			t.Errorf("%s after %q: got %s, want %d", test.path, test.last, resp.Status, test.want)
		}
	}
}

func TestStreamIsKeptAliveAndEndsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := eventfeed.New(&eventfeed.Options{Readers: 1})
		server := memhttp.New(handler(f))
		t.Cleanup(server.Close)
		resp, events := stream(t, server.Client(), server.URL()+"/r", "")
		began := time.Now()
		lines(t, events, 1)
		if got := lines(t, events, 2); got[0] != ": keep-alive" || got[1] != ": keep-alive" || time.Since(began) != 30*time.Second {
			t.Errorf("got %q after %v, want two comments after 30 s", got, time.Since(began))
		}
		resp.Body.Close()
		synctest.Wait()
		r, err := f.Read(t.Context(), key, agent.Position{})
		if err != nil {
			t.Errorf("got error %v, want room for a reader: the request has ended", err)
		} else {
			r.Close()
		}
		if n, _ := f.Size(); n != 0 {
			t.Errorf("got %d runs in memory, want none", n)
		}
	})
}

// A client that does not read loses its stream. Its connection has no buffer.
func TestClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := eventfeed.New(&eventfeed.Options{Readers: 1})
		server := memhttp.New(handler(f))
		t.Cleanup(server.Close)
		_, events := stream(t, server.Client(), server.URL()+"/r", "")
		lines(t, events, 1)
		for n := range 2000 { // the run does not wait
			f.Publish(key, delta(1, fmt.Sprint(n, strings.Repeat("x", 2000))))
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		for events.Scan() {
		}
		if err := events.Err(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got error %v, want a stream that was cut off", err)
		}
		r, err := f.Read(t.Context(), key, agent.Position{})
		if err != nil {
			t.Fatalf("got error %v, want room for a reader", err)
		}
		r.Close()
	})
}
