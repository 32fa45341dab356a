package mcpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// oldServer is a server of revision 2024-11-05 over HTTP+SSE.
type oldServer struct {
	t        *testing.T
	posted   int           // status of a POST to the URL of the stream
	endpoint string        // named in the stream
	begin    string        // written before the endpoint
	delay    time.Duration // before the endpoint
	say      chan string   // messages for the client; closing it ends the stream
	got      chan message  // messages posted to the endpoint
	left     chan struct{} // closed when the stream has ended
}

func newOldServer(t *testing.T) *oldServer {
	return &oldServer{
		t: t, posted: 405, endpoint: "/messages?session=secret-session",
		say: make(chan string, 16), got: make(chan message, 16), left: make(chan struct{}),
	}
}

func (s *oldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Key") != "k" {
		s.t.Errorf("%s without the header of the transport", r.Method)
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/messages":
		raw, _ := io.ReadAll(r.Body)
		var m message
		_ = json.Unmarshal(raw, &m)
		if m.Params.Name == "held" {
			s.got <- m
			<-r.Context().Done()
			return
		}
		if m.Params.Name == "refused" {
			http.Error(w, "no such session: secret-session", http.StatusGone)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "Accepted")
		s.got <- m
	case r.Method == http.MethodPost:
		w.WriteHeader(s.posted)
	default:
		s.stream(w, r)
	}
}

func (s *oldServer) stream(w http.ResponseWriter, r *http.Request) {
	defer close(s.left)
	w.Header().Set("Content-Type", "text/event-stream")
	w.(http.Flusher).Flush()
	select {
	case <-time.After(s.delay):
	case <-r.Context().Done():
		return
	}
	fmt.Fprintf(w, "%sevent: endpoint\ndata: %s\n\n", s.begin, s.endpoint)
	w.(http.Flusher).Flush()
	for {
		select {
		case data, ok := <-s.say:
			if !ok {
				return
			}
			fmt.Fprintf(w, ": keep-alive\n\nevent: message\ndata: %s\n\n", data)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// shake does the server's part of the handshake.
func (s *oldServer) shake() {
	s.say <- strings.Replace(handshakeAnswer(<-s.got), "2025-11-25", "2024-11-05", 1)
	<-s.got
}

// withOldServer runs f with a client that is connected to s.
func withOldServer(t *testing.T, s *oldServer, transport func(url string, client *http.Client) *mcpclient.HTTP, f func(t *testing.T, c *mcpclient.Client)) {
	server := serve(t, s)
	shaken := make(chan struct{})
	go func() {
		defer close(shaken)
		s.shake()
	}()
	o := samples(mcpclient.Options{}, answersTea)
	if transport("", nil).SSE {
		o.Protocol.Revision = mcp.Revision20241105
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := connectedIn(t, ctx, transport(server.URL()+"/sse", server.Client()), o)
	cancel() // the connection outlives its context
	<-shaken // later messages belong to the test
	f(t, c)
}

func direct(url string, client *http.Client) *mcpclient.HTTP {
	return &mcpclient.HTTP{URL: url, SSE: true, Client: client, Header: http.Header{"X-Key": {"k"}}, MaxMessage: 1000}
}

func fallingBack(url string, client *http.Client) *mcpclient.HTTP {
	return &mcpclient.HTTP{URL: url, Client: client, Header: http.Header{"X-Key": {"k"}}, MaxMessage: 1000}
}

func TestSSE(t *testing.T) {
	for name, recipeOf := range map[string]func(string, *http.Client) *mcpclient.HTTP{"direct": direct, "fallback": fallingBack} {
		for _, posted := range []int{400, 404, 405} {
			bubble(t, fmt.Sprint(name, posted), func(t *testing.T) {
				s := newOldServer(t)
				s.posted = posted
				withOldServer(t, s, recipeOf, func(t *testing.T, c *mcpclient.Client) {
					got := c.Server()
					wrong(t, got.Revision != mcp.Revision20241105 || c.SessionID() != "", "got %+v", got)
					go func() {
						call := <-s.got
						s.say <- fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":%s}`, samplingParams)
						answer := <-s.got
						wrong(t, string(answer.ID) != "7" || !strings.Contains(string(answer.Result), "tea"), "got %+v", answer)
						s.say <- answerTo(call)
					}()
					callText(t, t.Context(), c, "a", "a")
					_, err := c.CallTool(t.Context(), "refused", nil)
					e := wantError[*transport.HTTPError](t, err)
					wrong(t, e.Status != http.StatusGone || strings.Contains(err.Error(), "secret-session"), "got %v", err)
					noError(t, c.Close())
					<-s.left
				})
			})
		}
	}
}

// The stream is the connection: when it ends, all calls end at once.
func TestSSEStreamLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOldServer(t)
		withOldServer(t, s, direct, func(t *testing.T, c *mcpclient.Client) {
			start := time.Now()
			failed := make(chan error)
			for range 3 {
				go func() {
					_, err := c.CallTool(t.Context(), "a", nil)
					failed <- err
				}()
			}
			synctest.Wait()
			close(s.say)
			for range 3 {
				wantBoth(t, <-failed, mcpclient.ErrClosed, "the server closed the connection")
			}
			<-c.Done()
			within(t, "failing the calls", start, 0)
		})
	})
}

// A cancelled call is cancelled at the server, even if the server has not yet accepted the
// POST.
func TestSSECancel(t *testing.T) {
	for _, tool := range []string{"taken", "held"} {
		bubble(t, tool, func(t *testing.T) {
			s := newOldServer(t)
			withOldServer(t, s, direct, func(t *testing.T, c *mcpclient.Client) {
				ctx := withTimeout(t, time.Second)
				wantIs(t, errOf(c.CallTool(ctx, tool, nil)), context.DeadlineExceeded)
				<-s.got
				m := <-s.got
				wrong(t, m.Method != "notifications/cancelled", "got %+v, want the notice that the call is cancelled", m)
			})
		})
	}
}

func TestSSEMessageTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOldServer(t)
		withOldServer(t, s, direct, func(t *testing.T, c *mcpclient.Client) {
			go func() {
				<-s.got
				s.say <- strings.Repeat("x", 2000)
				s.say <- answerTo(<-s.got)
			}()
			wantIs(t, errOf(c.CallTool(t.Context(), "a", nil)), transport.ErrMessageTooLarge)
			callText(t, t.Context(), c, "b", "b")
		})
	})
}

func TestSSEEndpoint(t *testing.T) {
	const ok = ""
	for name, test := range map[string]struct {
		change func(*oldServer)
		want   string
	}{
		"absolute":       {func(s *oldServer) { s.endpoint = "http://memhttp.test/messages?a=b" }, ok},
		"without slash":  {func(s *oldServer) { s.endpoint = "messages" }, ok},
		"comment first":  {func(s *oldServer) { s.begin = ": hello\n\nretry: 5\n\n" }, ok},
		"other host":     {func(s *oldServer) { s.endpoint = "http://other.test/messages" }, "another origin (http://other.test)"},
		"other scheme":   {func(s *oldServer) { s.endpoint = "https://memhttp.test/messages" }, "another origin"},
		"other port":     {func(s *oldServer) { s.endpoint = "http://memhttp.test:81/messages" }, "another origin"},
		"no scheme":      {func(s *oldServer) { s.endpoint = "//other.test/messages" }, "another origin"},
		"not a URL":      {func(s *oldServer) { s.endpoint = "http://[::1" }, "not a URL"},
		"long":           {func(s *oldServer) { s.endpoint = "/" + strings.Repeat("a", 8<<10) }, "not a URL of up to 8192 bytes"},
		"another event":  {func(s *oldServer) { s.begin = "data: {}\n\n" }, `the first event is "message"`},
		"no endpoint":    {func(s *oldServer) { s.delay = time.Hour }, "no endpoint within 10s"},
		"within seconds": {func(s *oldServer) { s.delay = 9 * time.Second }, ok},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newOldServer(t)
			test.change(s)
			server := serve(t, s)
			transport := &mcpclient.HTTP{URL: server.URL() + "/sse", SSE: true, Client: server.Client(), Header: http.Header{"X-Key": {"k"}}}
			c, err := transport.Dial(t.Context())
			if test.want != ok {
				wantText(t, err, test.want)
				return
			}
			must(t, err)
			noError(t, c.Send(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"a"}`)))
			m := <-s.got
			wrong(t, m.Method != "a", "got %+v", m)
			_ = c.Close()
		})
	}
}

// After these answers to initialize the client tries HTTP+SSE. A server of 2024-11-05 may know
// the path, the method, or neither, and a gateway may answer with JSON.
func TestSSEFallback(t *testing.T) {
	const rpc = `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"told"}}`
	for _, test := range []struct {
		status, code int // of the response and the error in its body, or 0
		falls        bool
	}{
		{400, 0, true}, {404, 0, true}, {405, 0, true},
		{400, -32600, true}, {404, -32601, true}, {405, -32000, true},
		{400, -32020, false}, {400, -32021, false}, {404, -32022, false},
		{200, -32601, false}, {403, 0, false}, {406, 0, false}, {410, -32600, false}, {415, 0, false}, {500, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			s := served(t, func(w http.ResponseWriter, r *http.Request, _ message) {
				got = append(got, r.Method)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.status)
				if test.code != 0 {
					fmt.Fprintf(w, rpc, test.code)
				}
			})
			o := legacy()
			_, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, &o)
			if fell := len(got) == 2; err == nil || fell != test.falls || fell && got[1] != http.MethodGet {
				t.Errorf("%d, %d: got %v after %q, want a fallback: %t", test.status, test.code, err, got, test.falls)
			}
			wrong(t, test.code != 0 && wantError[*mcp.RPCError](t, err).Code != test.code, "%d: got %v, want code %d", test.status, err, test.code)
		})
	}
}

// If both transports fail, the error has both failures.
func TestSSEFallbackFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := served(t, func(w http.ResponseWriter, r *http.Request, _ message) {
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(w, "<html>welcome")
				return
			}
			http.Error(w, "nothing to post here", http.StatusMethodNotAllowed)
		})
		_, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, nil)
		for _, want := range []string{"initialize: ", "HTTP status 405", "nothing to post here", "over HTTP+SSE: ", `content type "text/html; charset=utf-8"`} {
			wantText(t, err, want)
		}
	})
	for _, url := range []string{"", "ftp://h", "http://"} {
		wantText(t, errOf((&mcpclient.HTTP{URL: url, SSE: true}).Dial(t.Context())), "HTTP.URL", url)
	}
}
