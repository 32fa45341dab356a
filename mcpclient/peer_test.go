package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/internal/mcptest"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
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
	conn  transport.Conn
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

// inBubble runs f in a bubble with a client connected by a pipe. The end of the bubble proves that no goroutine of it is left.
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

func connectedIn(t testing.TB, ctx context.Context, transport mcpclient.Transport, opts mcpclient.Options) *mcpclient.Client {
	t.Helper()
	c := check.Value(mcpclient.Connect(ctx, transport, &opts))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

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
	done := background(func() error { p.handshake(); return nil })
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
		err = json.Unmarshal(raw, &m)
		check.That(p.t, err == nil, "the client sent %q: %v", raw, err)
		p.inbox <- m
	}
}

// handshake answers the first request, and receives what follows from it.
func (p *peer) handshake() {
	m := p.next()
	if p.send(handshakeAnswer(m)); m.Method == "initialize" {
		p.next()
	}
}

func handshakeAnswer(m message) string {
	if m.Method == "initialize" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"peer","version":"1"}}}`, m.ID)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"peer","version":"1"}}}}`, m.ID)
}

// next returns the next message of the client, or the zero message after its end.
func (p *peer) next() message { return <-p.inbox }

func (p *peer) quiet() {
	p.t.Helper()
	synctest.Wait()
	select {
	case m, ok := <-p.inbox:
		check.That(p.t, !ok, "the client sent %+v", m)
	default:
	}
}

func (p *peer) refused(code int) {
	p.t.Helper()
	m := p.next()
	check.That(p.t, m.Error != nil && m.Error.Code == code, "got %+v, want a refusal with code %d", m, code)
}

func (p *peer) expect(method string) message {
	p.t.Helper()
	m := p.next()
	check.Equal(p.t, "method", m.Method, method)
	return m
}

func (p *peer) send(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	check.NoError(p.t, p.conn.Send(context.Background(), []byte(format)), "send to the client")
}

// reply answers the next request. The format begins with the place of its id.
func (p *peer) reply(format string, args ...any) {
	p.send(format, append([]any{p.next().ID}, args...)...)
}

// each calls f for every message until the client ends.
func (p *peer) each(f func(m message)) {
	for m := range p.inbox {
		f(m)
	}
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

func tea() *mcp.CreateMessageResult {
	return &mcp.CreateMessageResult{Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "tea"}}}
}

func connectTo(t *testing.T, server *memhttp.Server, opts mcpclient.Options) *mcpclient.Client {
	t.Helper()
	return connectedBy(t, server.URL(), server.Client(), opts)
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

// readMessage reads the message of a request, which can be read again. It returns the zero message if there is none.
func readMessage(r *http.Request) (m message) {
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &m)
	m.raw = string(raw)
	r.Body = io.NopCloser(bytes.NewReader(raw))
	return m
}

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

func within(t *testing.T, what string, start time.Time, want time.Duration) {
	t.Helper()
	got := time.Since(start)
	check.That(t, got <= want, "%s took %v, want at most %v", what, got, want)
}

// ways are the ways to play a transcript: over a shared connection, and over HTTP with JSON where possible, or with streams.
var ways = []string{"pipe", "json", "stream"}

// conversation is a transcript and what the client does during it.
type conversation struct {
	name string // of the file in testdata
	way  string // the only way, or "" for all
	opts mcpclient.Options

	maxMessage int           // of the HTTP transport
	patience   time.Duration // of the context

	play func(t *testing.T, ctx context.Context, c *mcpclient.Client)

	// refused gets the error of Connect; play is then not called.
	refused func(t *testing.T, err error)
}

func playAll(t *testing.T, all []conversation) {
	for _, conv := range all {
		t.Run(conv.name, func(t *testing.T) {
			for _, way := range ways {
				if conv.way == "" || conv.way == way {
					t.Run(way, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { conv.run(t, way) }) })
				}
			}
		})
	}
}

func (conv conversation) run(t *testing.T, way string) {
	script := mcptest.Read(t, filepath.Join("testdata", conv.name+".txtar"))
	script.Stream = way == "stream"
	var transport mcpclient.Transport = script
	if way != "pipe" {
		server := serve(t, script)
		transport = &mcpclient.HTTP{URL: server.URL() + "/mcp", Client: server.Client(), MaxMessage: conv.maxMessage}
	}
	ctx := withTimeout(t, time.Hour)
	if conv.patience > 0 {
		ctx = withTimeout(t, conv.patience)
	}
	opts := conv.opts
	opts.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	c, err := mcpclient.Connect(ctx, transport, &opts)
	if conv.refused != nil {
		if err == nil {
			_ = c.Close()
			t.Fatal("got a connection, want an error")
		}
		conv.refused(t, err)
		return
	}
	check.Must(t, err)
	defer func() {
		synctest.Wait() // for pending messages of the client
		check.NoError(t, c.Close())
	}()
	conv.play(t, ctx, c)
}

func ping(t *testing.T, ctx context.Context, c *mcpclient.Client) {
	t.Helper()
	check.NoError(t, c.Ping(ctx))
}

func speaks(revision string) func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
	return func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		check.Equal(t, "revision", c.Server().Revision, revision)
		ping(t, ctx, c)
	}
}

// wantError checks the type of an error and returns it.
func wantError[E error](t *testing.T, err error) E {
	t.Helper()
	var e E
	check.Require(t, errors.As(err, &e), "got error %v (%T), want a %T", err, err, e)
	return e
}

func speaking(revision string) mcpclient.Options {
	return mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}}
}

func legacy() mcpclient.Options { return speaking(mcp.Revision20251125) }
func modern() mcpclient.Options { return speaking(mcp.Revision20260728) }

// logs adds a log from a level on.
func logs(o mcpclient.Options, level slog.Level) (mcpclient.Options, *logged) {
	log := new(logged)
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
	return o, log
}

// undeclared lets a client use what the server does not declare.
func undeclared(o mcpclient.Options) mcpclient.Options {
	o.Protocol.AllowUndeclared = true
	return o
}

// heeding makes a client over HTTP read the standalone stream.
func heeding(o mcpclient.Options) mcpclient.Options {
	o.OnNotification = func(*mcp.Notification) {}
	return o
}

// bothEras returns two conversations for each, with files that end in _legacy and _modern.
func bothEras(all ...conversation) (out []conversation) {
	for _, conv := range all {
		for suffix, revision := range map[string]string{"_legacy": mcp.Revision20251125, "_modern": mcp.Revision20260728} {
			both := conv
			both.name += suffix
			both.opts.Protocol.Revision = revision
			out = append(out, both)
		}
	}
	return out
}

func asks(o mcpclient.Options) mcpclient.Options {
	o.Sampling = mcp.SamplingFunc(func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return &mcp.CreateMessageResult{Model: "m", StopReason: "endTurn", Content: []mcp.Content{&mcp.TextContent{Text: "tea"}}}, nil
	})
	o.Elicitation = mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"n": "Ada"}}, nil
	})
	o.Roots = []mcp.Root{{URI: "file:///w", Name: "work"}}
	return o
}

func samples(o mcpclient.Options, fn mcp.SamplingFunc) mcpclient.Options {
	o.Sampling = fn
	return o
}

// callText calls a tool and checks the text of the result.
func callText(t *testing.T, ctx context.Context, c *mcpclient.Client, tool, want string, opts ...mcpclient.CallOption) {
	t.Helper()
	res, err := c.CallTool(ctx, tool, nil, opts...)
	if check.NoError(t, err, tool); err == nil {
		check.Equal(t, tool, res.Text(), want)
	}
}

// wantBoth checks what an error is, and a part of its text.
func wantBoth(t testing.TB, err, want error, text string, of ...any) {
	t.Helper()
	check.Is(t, err, want, of...)
	check.Text(t, err, text, of...)
}

func wantCode(t testing.TB, err error, want int) {
	t.Helper()
	rpc, ok := errors.AsType[*mcp.RPCError](err)
	check.That(t, ok && rpc.Code == want, "got %v (%T), want code %d", err, err, want)
}

func wantStatus(t testing.TB, err error, want int) {
	t.Helper()
	e, ok := errors.AsType[*transport.HTTPError](err)
	check.That(t, ok && e.Status == want, "got %v (%T), want status %d", err, err, want)
}

// textOf returns the text of a result, or of the error.
func textOf(res *mcp.CallToolResult, err error) string {
	if err != nil {
		return err.Error()
	}
	return res.Text()
}

func isDone(c *mcpclient.Client) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// background runs f on a goroutine and returns a channel that gets the error.
func background(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

func together(n int, f func()) {
	var all sync.WaitGroup
	for range n {
		all.Go(f)
	}
	all.Wait()
}
