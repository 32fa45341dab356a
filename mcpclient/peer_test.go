package mcpclient_test

import (
	"bytes"
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

	raw string // over HTTP
}

// peer is the server's end of a pipe, driven by a test.
type peer struct {
	t     *testing.T
	conn  mcpclient.Conn
	inbox chan message
}

// newPeer returns a transport and the peer at its other end.
func newPeer(t *testing.T) (mcpclient.Transport, *peer) {
	transport, conn := mcpclient.Pipe()
	p := &peer{t: t, conn: conn, inbox: make(chan message, 1<<15)}
	t.Cleanup(func() { _ = conn.Close() })
	go p.read()
	return transport, p
}

// bubble runs f as a subtest in a bubble.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// eachEra runs f as a subtest for each era.
func eachEra(t *testing.T, f func(t *testing.T, era string, opts mcpclient.Options)) {
	for era, opts := range eras() {
		t.Run(era, func(t *testing.T) { f(t, era, opts) })
	}
}

// inEras is eachEra with a bubble for each subtest.
func inEras(t *testing.T, f func(t *testing.T, era string, opts mcpclient.Options)) {
	eachEra(t, func(t *testing.T, era string, opts mcpclient.Options) {
		synctest.Test(t, func(t *testing.T) { f(t, era, opts) })
	})
}

// eachPeer is inEras with a client that is connected by a pipe.
func eachPeer(t *testing.T, f func(t *testing.T, era string, c *mcpclient.Client, p *peer)) {
	inEras(t, func(t *testing.T, era string, opts mcpclient.Options) {
		c, p := connectedPeer(t, opts)
		f(t, era, c, p)
	})
}

// inBubble runs f in a bubble with a client that is connected by a pipe. The end of the bubble
// proves that no goroutine of the client is left.
func inBubble(t *testing.T, opts mcpclient.Options, f func(t *testing.T, c *mcpclient.Client, p *peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, p := connectedPeer(t, opts)
		f(t, c, p)
	})
}

// connected connects to a server that must accept. The client is closed at the end of the test.
func connected(t testing.TB, transport mcpclient.Transport, opts mcpclient.Options) *mcpclient.Client {
	t.Helper()
	return connectedIn(t, t.Context(), transport, opts)
}

// connectedIn is connected with a context of its own.
func connectedIn(t testing.TB, ctx context.Context, transport mcpclient.Transport, opts mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(ctx, transport, &opts)
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// connectError returns the error of connecting.
func connectError(t testing.TB, transport mcpclient.Transport, opts mcpclient.Options) error {
	c, err := mcpclient.Connect(t.Context(), transport, &opts)
	if err == nil {
		_ = c.Close()
	}
	return err
}

// connectedPeer returns a client and its peer after the handshake.
func connectedPeer(t *testing.T, opts mcpclient.Options) (*mcpclient.Client, *peer) {
	t.Helper()
	transport, p := newPeer(t)
	done := make(chan bool)
	go func() {
		p.handshake()
		close(done)
	}()
	c := connected(t, transport, opts)
	<-done // the test reads the client's later messages
	return c, p
}

// withTimeout returns a context that lasts until the end of the test at most.
func withTimeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
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
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"peer","version":"1"}}}`, m.ID)
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
		wrong(p.t, ok, "the client sent %+v", m)
	default:
	}
}

// refused checks that the next message refuses a request.
func (p *peer) refused(code int) {
	p.t.Helper()
	m := p.next()
	wrong(p.t, m.Error == nil || m.Error.Code != code, "got %+v, want a refusal with code %d", m, code)
}

// expect checks the method of the next message.
func (p *peer) expect(method string) message {
	p.t.Helper()
	m := p.next()
	equal(p.t, "method", m.Method, method)
	return m
}

func (p *peer) send(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	noError(p.t, p.conn.Send(context.Background(), []byte(format)), "send to the client")
}

// reply answers the next request. The format begins with the place of its id.
func (p *peer) reply(format string, args ...any) {
	p.send(format, append([]any{p.next().ID}, args...)...)
}

// replyAll is reply to every request until the client ends.
func (p *peer) replyAll(format string, args ...any) {
	for m := range p.inbox {
		p.send(format, append([]any{m.ID}, args...)...)
	}
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

// connectTo connects to a server over HTTP.
func connectTo(t *testing.T, server *memhttp.Server, opts mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c := connected(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client()}, opts)
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

// serve starts a server until the end of the test.
func serve(t testing.TB, h http.Handler) *memhttp.Server {
	s := memhttp.New(h)
	t.Cleanup(s.Close)
	return s
}

// served starts a server whose handler gets the message of each request, too.
func served(t testing.TB, h func(w http.ResponseWriter, r *http.Request, m message)) *memhttp.Server {
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(w, r, readMessage(r)) }))
}

// httpServer answers handshakes itself and passes other requests to h.
func httpServer(t testing.TB, h func(w http.ResponseWriter, r *http.Request, m message)) *memhttp.Server {
	return serve(t, httpHandler(h))
}

// readMessage reads the message of a request, which can be read again. It returns the zero message
// if there is none.
func readMessage(r *http.Request) (m message) {
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &m)
	m.raw = string(raw)
	r.Body = io.NopCloser(bytes.NewReader(raw))
	return m
}

// httpHandler is the handler of [httpServer].
func httpHandler(h func(w http.ResponseWriter, r *http.Request, m message)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := readMessage(r)
		switch {
		case m.Method == "initialize" || m.Method == "server/discover":
			_, _ = io.WriteString(jsonWriter(w), handshakeAnswer(m))
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
	got := time.Since(start)
	wrong(t, got > want, "%s took %v, want at most %v", what, got, want)
}
