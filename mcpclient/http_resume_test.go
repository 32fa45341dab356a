package mcpclient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// overLegacyHTTP runs f with a client whose requests after the handshake go to h.
func overLegacyHTTP(t *testing.T, h func(w http.ResponseWriter, r *http.Request, m message), f func(t *testing.T, c *mcpclient.Client)) {
	t.Helper()
	overHTTP(t, heeding(legacy()), h, f, func(h *mcpclient.HTTP) { h.MaxMessage = 1000 })
}

// resuming is overLegacyHTTP for a server without a standalone stream. h gets the id of the last event, "" for a call.
func resuming(t *testing.T, h func(w http.ResponseWriter, r *http.Request, m message, last string), f func(t *testing.T, c *mcpclient.Client)) {
	t.Helper()
	overLegacyHTTP(t, func(w http.ResponseWriter, r *http.Request, m message) {
		last := r.Header.Get("Last-Event-Id")
		if r.Method == http.MethodGet && last == "" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		h(w, r, m, last)
	}, f)
}

// A server may close the stream before the answer any number of times. Each has a new event id, and the client waits as told.
func TestHTTPPolling(t *testing.T) {
	const polls = 20
	var call message
	resuming(t, func(w http.ResponseWriter, _ *http.Request, m message, last string) {
		n, _ := strconv.Atoi(last)
		if last == "" {
			call = m
		}
		if n == polls {
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", n+1, answerTo(call))
			return
		}
		fmt.Fprintf(w, "id: %d\nretry: 3000\ndata:\n\n", n+1)
	}, func(t *testing.T, c *mcpclient.Client) {
		start := time.Now()
		callText(t, t.Context(), c, "a", "a")
		got, least := time.Since(start), polls*3*time.Second
		check.That(t, got >= least && got <= least+polls*time.Second, "got the answer after %v, want about %v", got, least)
	})
}

// The standalone stream skips an event over the limit, but its id and retry time count. An exchange ends, and is not resumed.
func TestHTTPEventTooLarge(t *testing.T) {
	large := strings.Repeat("x", 2000)
	var resumed diary
	var opened []time.Time
	overLegacyHTTP(t, func(w http.ResponseWriter, r *http.Request, _ message) {
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Method == http.MethodPost {
			fmt.Fprintf(w, "id: of-the-call\ndata: %s\n\n", large)
			return
		}
		resumed.write("%s", r.Header.Get("Last-Event-Id"))
		if opened = append(opened, time.Now()); len(opened) == 1 {
			_, _ = io.WriteString(w, "id: seen\nretry: 7000\ndata: "+large+"\n\n")
			return
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, func(t *testing.T, c *mcpclient.Client) {
		time.Sleep(20 * time.Second)
		check.Same(t, "connections after", resumed.read(), []string{"", "seen"})
		check.Require(t, len(opened) == 2 && opened[1].Sub(opened[0]) >= 7*time.Second, "got connections at %v", opened)
		check.Text(t, check.Err(c.CallTool(t.Context(), "a", nil)), "an event is over 1000 bytes")
		time.Sleep(20 * time.Second)
		check.That(t, len(resumed.read()) == 0, "the call was resumed")
	})
}

// A proxy may cut every connection after a minute in which only comments arrived, any number of times: that is not a failure.
func TestHTTPQuietConnectionsLive(t *testing.T) {
	var call message
	var start time.Time
	resuming(t, func(w http.ResponseWriter, r *http.Request, m message, last string) {
		if last == "" {
			call, start = m, time.Now()
			fmt.Fprint(w, "id: 1\nretry: 1000\ndata:\n\n")
			return
		}
		say := stream(w)
		for range 6 {
			fmt.Fprint(w, ": keep-alive\n\n")
			w.(http.Flusher).Flush()
			select {
			case <-time.After(10 * time.Second):
			case <-r.Context().Done():
				return
			}
			if time.Since(start) > 15*time.Minute {
				say(answerTo(call))
				return
			}
		}
	}, func(t *testing.T, c *mcpclient.Client) {
		callText(t, t.Context(), c, "a", "a", mcpclient.WithTimeout(0))
	})
}

// Connections that end at once are failures: the waits grow, and the client gives up in the end.
func TestHTTPResumeGivesUp(t *testing.T) {
	var opened []time.Time
	resuming(t, func(w http.ResponseWriter, _ *http.Request, _ message, last string) {
		if opened = append(opened, time.Now()); last == "" {
			fmt.Fprint(w, "id: 1\ndata:\n\n")
		}
	}, func(t *testing.T, c *mcpclient.Client) {
		check.Text(t, check.Err(c.CallTool(t.Context(), "a", nil)), "5 attempts brought nothing")
		check.Require(t, len(opened) == 6, "got %d connections, want 6", len(opened))
		for i, least := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
			got := opened[i+1].Sub(opened[i])
			check.That(t, got >= least && got <= 2*least, "wait %d: got %v, want %v to %v", i, got, least, 2*least)
		}
	})
}

// The stream of initialize is resumed in the session that its response has named.
func TestHTTPInitializeResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first message
		var resumed []string
		s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
			switch {
			case m.Method == "initialize":
				first = m
				w.Header().Set("Mcp-Session-Id", "s-1")
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "id: 1\nretry: 100\ndata:\n\n")
			case r.Method == http.MethodGet:
				resumed = append(resumed, r.Header.Get("Mcp-Session-Id")+" after "+r.Header.Get("Last-Event-Id"))
				stream(w)(handshakeAnswer(first))
			default:
				w.WriteHeader(http.StatusAccepted)
			}
		})
		connectTo(t, s, legacy())
		check.Same(t, "resumed streams", resumed, []string{"s-1 after 1"})
	})
}

// Streams are resumed in their own session. If the server has forgotten that session, a newer one remains.
func TestHTTPResumeInOwnSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 3
		var resumed diary
		cut := make(chan struct{})
		s := &sessionServer{instead: func(w http.ResponseWriter, r *http.Request, m message) bool {
			switch {
			case r.Method == http.MethodGet: // the server does not know an event of another session
				resumed.write("%s", r.Header.Get("Mcp-Session-Id"))
				w.WriteHeader(http.StatusNotFound)
			case m.Method == "tools/call":
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "id: 1\nretry: 100\ndata:\n\n")
				w.(http.Flusher).Flush()
				<-cut
			default:
				return false
			}
			return true
		}}
		c := connectTo(t, serve(t, s), legacy())
		go func() {
			synctest.Wait()
			s.forget()
			check.NoError(t, c.Ping(t.Context()))
			close(cut)
		}()
		together(calls, func() { check.Is(t, check.Err(c.CallTool(t.Context(), "slow", nil)), mcpclient.ErrSessionLost) })
		check.Same(t, "sessions of resumed streams", resumed.read(), slices.Repeat([]string{"s-1"}, calls))
		check.Equal(t, "sessions", s.times("initialize"), 2)
		check.Equal(t, "session", c.SessionID(), "s-2")
	})
}

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
	check.Equal(s.t, r.Method+": header of the transport", r.Header.Get("X-Key"), "k")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/messages":
		switch m := readMessage(r); m.Params.Name {
		case "held":
			s.got <- m
			<-r.Context().Done()
		case "refused":
			http.Error(w, "no such session: secret-session", http.StatusGone)
		default:
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, "Accepted")
			s.got <- m
		}
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

func (s *oldServer) shake() {
	s.say <- strings.Replace(handshakeAnswer(<-s.got), "2025-11-25", "2024-11-05", 1)
	<-s.got
}

// withOldServer runs f with a client that is connected to s.
func withOldServer(t *testing.T, s *oldServer, transport func(url string, client *http.Client) *mcpclient.HTTP, f func(t *testing.T, c *mcpclient.Client)) {
	server := serve(t, s)
	shaken := background(func() error { s.shake(); return nil })
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
	h := direct(url, client)
	h.SSE = false
	return h
}

func TestSSE(t *testing.T) {
	for name, recipeOf := range map[string]func(string, *http.Client) *mcpclient.HTTP{"direct": direct, "fallback": fallingBack} {
		for _, posted := range []int{400, 404, 405} {
			bubble(t, fmt.Sprint(name, posted), func(t *testing.T) {
				s := newOldServer(t)
				s.posted = posted
				withOldServer(t, s, recipeOf, func(t *testing.T, c *mcpclient.Client) {
					got := c.Server()
					check.That(t, got.Revision == mcp.Revision20241105 && c.SessionID() == "", "got %+v", got)
					go func() {
						call := <-s.got
						s.say <- fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":%s}`, samplingParams)
						answer := <-s.got
						check.That(t, string(answer.ID) == "7" && strings.Contains(string(answer.Result), "tea"), "got %+v", answer)
						s.say <- answerTo(call)
					}()
					callText(t, t.Context(), c, "a", "a")
					err := check.Err(c.CallTool(t.Context(), "refused", nil))
					wantStatus(t, err, http.StatusGone)
					check.That(t, !strings.Contains(fmt.Sprint(err), "secret-session"), "got %v", err)
					check.NoError(t, c.Close())
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
			go func() { synctest.Wait(); close(s.say) }()
			together(3, func() {
				wantBoth(t, check.Err(c.CallTool(t.Context(), "a", nil)), mcpclient.ErrClosed, "server closed the connection")
			})
			<-c.Done()
			within(t, "failing the calls", start, 0)
		})
	})
}

// A cancelled call is cancelled at the server, even if the server has not yet accepted the POST.
func TestSSECancel(t *testing.T) {
	for _, tool := range []string{"taken", "held"} {
		bubble(t, tool, func(t *testing.T) {
			s := newOldServer(t)
			withOldServer(t, s, direct, func(t *testing.T, c *mcpclient.Client) {
				check.Is(t, check.Err(c.CallTool(withTimeout(t, time.Second), tool, nil)), context.DeadlineExceeded)
				<-s.got
				check.Equal(t, "then the server got", (<-s.got).Method, "notifications/cancelled")
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
			check.Is(t, check.Err(c.CallTool(t.Context(), "a", nil)), transport.ErrMessageTooLarge)
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
		"absolute":       {func(s *oldServer) { s.endpoint = "http://MemHTTP.test:80/messages?a=b" }, ok},
		"without slash":  {func(s *oldServer) { s.endpoint = "messages" }, ok},
		"comment first":  {func(s *oldServer) { s.begin = ": hello\n\nretry: 5\n\n" }, ok},
		"other host":     {func(s *oldServer) { s.endpoint = "http://other.test/messages" }, `another origin ("http://other.test")`},
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
			h := direct(server.URL()+"/sse", server.Client())
			h.MaxMessage = 0
			c, err := h.Dial(t.Context())
			if test.want != ok {
				check.Text(t, err, test.want)
				return
			}
			check.Must(t, err)
			check.NoError(t, c.Send(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"a"}`)))
			check.Equal(t, "method", (<-s.got).Method, "a")
			_ = c.Close()
		})
	}
}

// The wait for the endpoint does not count the time in which a person signs in.
func TestSSEEndpointWaitsForToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := serve(t, newOldServer(t))
		h := direct(server.URL()+"/sse", server.Client())
		h.Token = tokenFunc(func(context.Context, *transport.Refusal) (transport.Token, error) {
			time.Sleep(time.Minute)
			return transport.Token{Value: "t"}, nil
		})
		_ = check.Value(h.Dial(t.Context()))(t).Close()
	})
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
			err := connectError(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, legacy())
			fell := len(got) == 2
			check.That(t, err != nil && fell == test.falls && (!fell || got[1] == http.MethodGet), "%+v: got %v after %q", test, err, got)
			if test.code != 0 {
				wantCode(t, err, test.code)
			}
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
		err := connectError(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, mcpclient.Options{})
		for _, want := range []string{"initialize: ", "HTTP status 405", "nothing to post here", "over HTTP+SSE: ", `content type "text/html; charset=utf-8"`} {
			check.Text(t, err, want)
		}
	})
	for _, url := range []string{"", "ftp://h", "http://"} {
		check.Text(t, check.Err((&mcpclient.HTTP{URL: url, SSE: true}).Dial(t.Context())), "HTTP.URL", url)
	}
}
