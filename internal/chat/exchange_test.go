package chat

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Streamed calls use one connection, one after the other, also if the body ends a while after the reply: that does not
// delay the reply, and the connection is free again while the tools run.
func TestStreamsShareAConnection(t *testing.T) {
	for _, tt := range []struct{ late, pause time.Duration }{{0, 0}, {500 * time.Millisecond, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
				streaming(helloChunks...)(w, r)
				w.(http.Flusher).Flush() // the end of the body comes by itself
				time.Sleep(tt.late)
			})
			defer h.Close()
			dials, dial := 0, h.Transport().DialContext
			h.Transport().DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				dials++
				return dial(ctx, network, address)
			}
			c := h.client(t, openAI, nil)
			for range 20 {
				start := time.Now()
				reply, err := c.Stream(t.Context(), hello(), Deltas{})
				check.Require(t, err == nil && reply.Text == "Hello", "got %+v, %v", reply, err)
				took := time.Since(start)
				check.That(t, took <= restWait, "the reply came after %v", took)
				time.Sleep(tt.pause)
			}
			check.Equal(t, "connections", dials, 1)
		})
	}
}

// forgetful is a host that answers one request on each connection, says that the connection stays, and
// closes it when the next request comes.
func forgetful(t *testing.T, body string, closing func(net.Conn)) (url string) {
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				r := bufio.NewReader(conn)
				req, err := http.ReadRequest(r)
				if err == nil {
					_, _ = io.Copy(io.Discard, req.Body)
					_, _ = io.WriteString(conn, answer)
					_, _ = r.Peek(1)
				}
				closing(conn)
			}()
		}
	}()
	return "http://" + listener.Addr().String() + "/v1"
}

// A connection that the host has closed in the meantime is not a failure: the request is sent again,
// and Retrying is not called. It is so with a RoundTripper of the program, too.
func TestClosedConnections(t *testing.T) {
	for name, closing := range map[string]func(net.Conn){
		"closed": func(c net.Conn) { _ = c.Close() },
		"reset":  func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); _ = c.Close() },
	} {
		for api, body := range map[string]string{Chat: strings.Join(helloChunks, "\n\n") + "\n\n", Responses: strings.Join(append(events(helloItem), completed("response.completed", helloResponse)), "\n\n") + "\n\n"} {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			c := newClient(t, forgetful(t, body, closing), &http.Client{Transport: struct{ http.RoundTripper }{transport}}, &Options{
				API: api, Retries: -1, Retrying: func(err error, _ time.Duration) { t.Errorf("%s: told of %v", name, err) },
			})
			for n := range 100 {
				reply, err := c.Stream(t.Context(), hello(), Deltas{})
				check.Require(t, err == nil && reply.Text == "Hello", "%s, %s: call %d: got %+v, %v", name, api, n, reply, err)
			}
		}
	}
}

// What a host says, at each endpoint.
const (
	helloItem     = `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hello","annotations":[]}]}`
	helloResponse = `{"id":"resp_1","object":"response","model":"m","status":"completed","output":[` + helloItem + `]}`
)

var (
	helloChunks  = []string{chunk(`{"content":"Hello"}`, "stop"), "data: [DONE]"}
	helloAnswers = map[string]string{Chat: plainAnswer, Responses: helloResponse}
)

// A redirect leads neither the key nor the conversation to another host, and the answer of another host is not taken.
func TestRedirects(t *testing.T) {
	stranger := newHost(t, answering(plainAnswer))
	for api, answer := range helloAnswers {
		redirects(t, api, answer, stranger)
	}
	n := stranger.Asked()
	check.That(t, n <= 0, "the other host was asked %d times", n)
}

func redirects(t *testing.T, api, answer string, stranger *host) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		for target, want := range map[string]string{
			"https://stranger.example/v1/x": "redirect to another origin refused: set the base URL to https://stranger.example if you trust it",
			"https://OWN.example:443/v2/x":  map[bool]string{true: "redirect that would turn POST into GET refused", false: ""}[status < 307],
		} {
			first := true
			own := newHost(t, func(w http.ResponseWriter, r *http.Request) {
				if first {
					first = false
					http.Redirect(w, r, target, status)
					return
				}
				check.That(t, r.Header.Get("Authorization") != "", "%s, %d to %s: no key", api, status, target)
				answering(answer)(w, r)
			})
			hosts := &http.Client{Transport: byHost{"own.example": own.Client(), "stranger.example": stranger.Client()}}
			c := newClient(t, "https://own.example/v1", hosts, &Options{API: api})
			reply, err := c.Complete(t.Context(), hello())
			switch {
			case want != "" && (own.Asked() > 1 || strings.Contains(err.Error(), "host is up")):
				t.Errorf("%s, %d to %s: got %d requests and %v, want one, as the host is up", api, status, target, own.Asked(), err)
			case want == "" && (err != nil || reply.Text != "Hello"):
				t.Errorf("%s, %d to %s: got %+v, %v", api, status, target, reply, err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s, %d to %s: got %v, want %q", api, status, target, err, want)
			}
		}
	}
}

type byHost map[string]*http.Client

func (b byHost) RoundTrip(r *http.Request) (*http.Response, error) {
	return b[strings.ToLower(r.URL.Hostname())].Transport.RoundTrip(r)
}

// A failure is told by its status and its headers, even if its body does not end.
func TestErrorBodyWithoutEnd(t *testing.T) {
	for _, tt := range []struct {
		api    string
		status int
	}{{Chat, 401}, {Chat, 503}, {Responses, 401}, {Responses, 503}} {
		synctest.Test(t, func(t *testing.T) {
			over := make(chan struct{})
			h := newHost(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, `{"error": "no`)
				w.(http.Flusher).Flush()
				<-over
			})
			began := time.Now()
			_, err := h.client(t, openAI, &Options{API: tt.api, Retries: -1}).Complete(t.Context(), hello())
			close(over)
			want, took := wantCode(t, err, ""), time.Since(began)
			check.That(t, want.Status == tt.status && want.RetryAfter == 7*time.Second && took == errorBodyTime, "got status %d, retry after %v, in %v", want.Status, want.RetryAfter, took)
		})
	}
}
