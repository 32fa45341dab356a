package eventfeed_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
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
	req := check.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp := check.Value(client.Do(req))(t)
	t.Cleanup(func() { resp.Body.Close() })
	return resp, bufio.NewScanner(resp.Body)
}

// lines reads lines that are not empty.
func lines(t *testing.T, s *bufio.Scanner, n int) (out []string) {
	t.Helper()
	for len(out) < n {
		check.Require(t, s.Scan(), "the stream ended after %q: %v", out, s.Err())
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
	check.Equal(t, "the time after which to connect again", lines(t, events, 1)[0], "retry: 1000")
	turn := `data: {"type":"turn_end","run":"r","seq":%d,"time":"0001-01-01T00:00:00Z","messages":null}`
	for seq := range uint64(3) {
		f.Publish(key, k.turn(seq+1, 0))
		check.Same(t, "at once", lines(t, events, 2), []string{fmt.Sprintf("id: %d", seq+1), fmt.Sprintf(turn, seq+1)})
	}
	f.Publish(key, delta(3, "a\nb"))
	line := lines(t, events, 1)[0]
	check.That(t, strings.HasPrefix(line, "data: ") && strings.Contains(line, `"text":"a\nb"`), "got %q, want data without an id, on one line", line)
	for _, test := range []struct{ last, query, want string }{{"2", "", "id: 3"}, {"", "?after=1", "id: 2"}, {"2", "?after=1", "id: 3"}} {
		resp, again := stream(t, server.Client(), server.URL+"/r"+test.query, test.last)
		got := lines(t, again, 2)[1]
		check.That(t, got == test.want && resp.Header.Get("Content-Type") == "text/event-stream", "after %+v: got %q as %q, want %s", test, got, resp.Header.Get("Content-Type"), test.want)
	}
}

func TestServeRefuses(t *testing.T) {
	server := httptest.NewServer(handler(eventfeed.New(&eventfeed.Options{Replay: new(kept).Replay, Readers: 1})))
	t.Cleanup(server.Close)
	for _, test := range []struct {
		path, last string
		want       int
	}{{"/other", "", 404}, {"/r", "x", 400}, {"/r", "1.2.3", 400}, {"/r", "", 200}, {"/r", "", 503}} {
		resp, _ := stream(t, server.Client(), server.URL+test.path, test.last)
		check.Equal(t, test.path+" after "+test.last, resp.StatusCode, test.want)
	}
}

// A silent stream is kept alive, also if the store does not answer, with an error of its own when its context ends.
func TestStreamIsKeptAliveAndEndsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		replay := func(ctx context.Context, _ run.Key, _ agent.Position) iter.Seq2[agent.Event, error] {
			return func(yield func(agent.Event, error) bool) {
				if hangs.Load() {
					<-ctx.Done()
					yield(nil, errors.New("the query was cancelled"))
				}
			}
		}
		f := eventfeed.New(&eventfeed.Options{Readers: 1, Poll: time.Second, Replay: replay})
		server := memhttp.New(handler(f))
		t.Cleanup(server.Close)
		resp, events := stream(t, server.Client(), server.URL()+"/r", "")
		began := time.Now()
		lines(t, events, 1)
		hangs.Store(true)
		got := lines(t, events, 2)
		hangs.Store(false)
		check.That(t, got[0] == ": keep-alive" && got[1] == ": keep-alive" && time.Since(began) == 30*time.Second, "got %q after %v, want two comments after 30 s", got, time.Since(began))
		resp.Body.Close()
		synctest.Wait()
		r := check.Value(f.Read(t.Context(), key, agent.Position{}))(t) // there is room for a reader: the request has ended
		r.Close()
		n, _ := f.Size()
		check.Equal(t, "runs in memory", n, 0)
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
		check.Is(t, events.Err(), io.ErrUnexpectedEOF)
		read(t, f, "") // there is room for a reader
	})
}
