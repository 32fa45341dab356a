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

	"github.com/mcpchain/mcpchain/internal/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// message has the members of a client's message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name    string          `json:"name"`
		TaskID  string          `json:"taskId"`
		Meta    json.RawMessage `json:"_meta"`
		Answers json.RawMessage `json:"inputResponses"`
		State   string          `json:"requestState"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *mcp.RPCError   `json:"error"`
}

// peer is the server's end of a pipe, driven by a test.
type peer struct {
	t     *testing.T
	conn  mcpclient.Conn
	inbox chan message
}

// inBubble runs f in a bubble with a client that is connected by a pipe. The end of the bubble
// proves that no goroutine of the client is left.
func inBubble(t *testing.T, opts mcpclient.Options, f func(t *testing.T, c *mcpclient.Client, p *peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, p := connectedPeer(t, opts)
		defer func() { _ = c.Close() }()
		f(t, c, p)
	})
}

// connected connects to a server that must accept. The test closes the client.
func connected(t testing.TB, transport mcpclient.Transport, opts *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), transport, opts)
	must(t, err)
	return c
}

// connectedPeer is connect that must succeed.
func connectedPeer(t *testing.T, opts mcpclient.Options) (*mcpclient.Client, *peer) {
	t.Helper()
	c, p, err := connect(t, t.Context(), opts)
	must(t, err)
	return c, p
}

// connect returns a client and its peer after the handshake.
func connect(t *testing.T, ctx context.Context, opts mcpclient.Options) (*mcpclient.Client, *peer, error) {
	transport, conn := mcpclient.Pipe()
	p := &peer{t: t, conn: conn, inbox: make(chan message, 1<<15)}
	t.Cleanup(func() { _ = conn.Close() })
	go p.read()
	done := make(chan bool)
	go func() {
		p.handshake()
		close(done)
	}()
	c, err := mcpclient.Connect(ctx, transport, &opts)
	if err == nil {
		<-done // the test reads the client's later messages
	}
	return c, p, err
}

func (p *peer) read() {
	defer close(p.inbox)
	for {
		raw, err := p.conn.Recv()
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			p.t.Errorf("the client sent %q: %v", raw, err)
		}
		p.inbox <- m
	}
}

// handshake answers the first request, and receives what follows from it.
func (p *peer) handshake() {
	m := p.next()
	if m.Method == "initialize" {
		p.send(handshakeAnswer(m))
		p.next()
		return
	}
	p.send(handshakeAnswer(m))
}

func handshakeAnswer(m message) string {
	if m.Method == "initialize" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"peer","version":"1"}}}`, m.ID)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"peer","version":"1"}}}}`, m.ID)
}

// next returns the next message of the client, or the zero message after its end.
func (p *peer) next() message { return <-p.inbox }

// quiet checks that the client has sent nothing.
func (p *peer) quiet() {
	p.t.Helper()
	synctest.Wait()
	select {
	case m, ok := <-p.inbox:
		if ok {
			p.t.Errorf("the client sent %+v", m)
		}
	default:
	}
}

func (p *peer) send(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	noError(p.t, p.conn.Send(context.Background(), []byte(format)), "send to the client")
}

// answer answers a tool call with the tool's name as text.
func (p *peer) answer(m message) { p.send(answerTo(m)) }

func answerTo(m message) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, m.ID, m.Params.Name)
}

// ask sends a sampling request.
func (p *peer) ask(id string) {
	p.send(`{"jsonrpc":"2.0","id":%s,"method":"sampling/createMessage","params":%s}`, id, samplingParams)
}

const samplingParams = `{"messages":[{"role":"user","content":{"type":"text","text":"?"}}],"maxTokens":5,"_meta":{"k":1}}`

// echo answers every tool call with the tool's name until the client ends.
func (p *peer) echo() {
	for m := range p.inbox {
		if m.Method == "tools/call" {
			p.answer(m)
		}
	}
}

// tea returns the answer of a model.
func tea() *mcp.CreateMessageResult {
	return &mcp.CreateMessageResult{Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "tea"}}}
}

// connectTo connects to a server over HTTP. The test closes the client before the server.
func connectTo(t *testing.T, server *memhttp.Server, opts mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c := connected(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client()}, &opts)
	return c
}

// watched returns a RoundTripper that calls before for each HTTP request.
func watched(before func(*http.Request)) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			before(r)
			return next.RoundTrip(r)
		})
	}
}

// httpServer answers handshakes itself and passes other requests to h, with their messages.
func httpServer(t *testing.T, h func(w http.ResponseWriter, r *http.Request, m message)) *memhttp.Server {
	s := memhttp.New(httpHandler(h))
	t.Cleanup(s.Close)
	return s
}

// readMessage reads the message of a request; it returns the zero message if there is none.
func readMessage(r *http.Request) (m message) {
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &m)
	return m
}

// httpHandler is the handler of [httpServer].
func httpHandler(h func(w http.ResponseWriter, r *http.Request, m message)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := readMessage(r)
		switch {
		case m.Method == "initialize" || m.Method == "server/discover":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, handshakeAnswer(m))
		case strings.HasPrefix(m.Method, "notifications/"):
			w.WriteHeader(http.StatusAccepted)
		default:
			h(w, r, m)
		}
	})
}

// stream begins an event stream and returns a function that sends an event.
func stream(w http.ResponseWriter) func(data string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.(http.Flusher).Flush()
	return func(data string) {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
}

// within checks how much time has passed.
func within(t *testing.T, what string, start time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(start); got > want {
		t.Errorf("%s took %v, want at most %v", what, got, want)
	}
}
