package adapter

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// peer is a server of the official SDK in this process.
type peer struct {
	*sdk.Server
	session *sdk.ServerSession
	die     func()        // ends the connection, as the end of a process would
	ended   chan struct{} // closed when the session has ended
}

// newPeer returns a server without tools.
func newPeer() *peer {
	return &peer{Server: sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, nil), ended: make(chan struct{})}
}

// newSilentPeer returns a server that announces no changes.
func newSilentPeer() *peer {
	p := newPeer()
	p.Server = sdk.NewServer(&sdk.Implementation{Name: "silent", Version: "1"}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	return p
}

// tool adds a tool with a schema.
func (p *peer) tool(name, schema string, h sdk.ToolHandler) *peer {
	p.AddTool(&sdk.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(schema)}, h)
	return p
}

// transport starts the server and returns a transport to it.
func (p *peer) transport(t testing.TB) mcpclient.Transport {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	session := check.Value(p.Connect(context.Background(), &sdk.IOTransport{Reader: toServer, Writer: fromServer}, nil))(t)
	p.session = session
	p.die = func() { _ = fromServer.Close(); _ = toServer.Close() }
	go func() {
		_ = session.Wait()
		_ = fromServer.Close()
		close(p.ended)
	}()
	t.Cleanup(func() { _ = session.Close() })
	return &mcpclient.IO{Reader: toClient, Writer: fromClient}
}

// answer returns a tool that always gives the same answer.
func answer(text string) sdk.ToolHandler {
	return saying(func(*sdk.CallToolRequest) string { return text })
}

// saying returns a tool that answers with a text.
func saying(text func(*sdk.CallToolRequest) string) sdk.ToolHandler {
	return func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return say(text(req)), nil
	}
}

// echo is a tool that answers with its arguments.
func echo(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	return say(string(req.Params.Arguments)), nil
}

func say(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// hang is a tool that gives no answer.
func hang(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// failing returns a tool that fails with a text.
func failing(text string) sdk.ToolHandler {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: say(text).Content, IsError: true}, nil
	}
}

// counted returns an approval that always decides the same, and counts its calls.
func counted(asked *int, decision approval.Decision) approval.Func {
	return func(context.Context, *approval.Request) (approval.Decision, error) {
		*asked++
		return decision, nil
	}
}

// allowing returns an approval that allows all calls, after note.
func allowing(note func(a *approval.Request)) approval.Func {
	return func(_ context.Context, a *approval.Request) (approval.Decision, error) {
		note(a)
		return approval.Decision{Allow: true}, nil
	}
}

// intercept returns an interceptor that runs f around the next handler.
func intercept(f func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error)) []Interceptor {
	return []Interceptor{func(next Handler) Handler {
		return func(ctx context.Context, r *Request) (*mcp.CallToolResult, error) { return f(ctx, r, next) }
	}}
}

// before returns an interceptor that runs f first.
func before(f func(ctx context.Context, r *Request)) []Interceptor {
	return intercept(func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
		f(ctx, r)
		return next(ctx, r)
	})
}

// open opens a toolset that is closed with the test.
func open(t testing.TB, opts *Options, servers ...Server) *Toolset {
	t.Helper()
	ts := check.Value(Open(t.Context(), servers, opts))(t)
	t.Cleanup(func() { _ = ts.Close() })
	return ts
}

// open opens a toolset whose server "p" is this one.
func (p *peer) open(t testing.TB, opts *Options) *Toolset {
	t.Helper()
	return p.openAs(t, opts, Server{})
}

// openAs is open with settings of the server.
func (p *peer) openAs(t testing.TB, opts *Options, s Server) *Toolset {
	t.Helper()
	s.Name, s.Transport = "p", p.transport(t)
	return open(t, opts, s)
}

// call returns a model's call of a tool.
func call(id, name, arguments string) llms.ToolCall {
	return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: arguments}}
}

// callTool runs a model's call of a tool by its plain name.
func callTool(t testing.TB, ts *Toolset, name, arguments string) *Result {
	return ts.Catalog(profile.Plain).Call(t.Context(), call("1", name, arguments))
}

// wantTools checks the names of tools that models know.
func wantTools(t testing.TB, ts *Toolset, want ...string) {
	t.Helper()
	check.Same(t, "tools", toolNamesOf(ts), want)
}

const object = `{"type":"object"}`

// answeredBy returns a transport to a server that answers with [testenv.Serve], and the server's end.
func answeredBy(t testing.TB, answer func(m *testenv.Message) string) (mcpclient.Transport, transport.Conn) {
	transport, conn := mcpclient.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		testenv.Serve(conn, answer)
	}()
	t.Cleanup(func() { _ = conn.Close(); <-ended })
	return transport, conn
}

const handshake = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`

// scriptedBy returns a transport to a server that answers with result(method), and the server's
// end. Without a result it initializes a session with 2025-11-25, and knows no other method.
func scriptedBy(t testing.TB, result func(method string) string) (mcpclient.Transport, transport.Conn) {
	return answeredBy(t, func(m *testenv.Message) string {
		switch r := result(m.Method); {
		case r != "":
			return `"result":` + r
		case m.Method == "initialize":
			return `"result":` + handshake
		}
		return `"error":{"code":-32601,"message":"no such method"}`
	})
}

// scripted returns a transport to a server that answers each method with a fixed result.
func scripted(t testing.TB, results map[string]string) mcpclient.Transport {
	transport, _ := scriptedBy(t, func(method string) string { return results[method] })
	return transport
}

func TestToolsThatBreakTheRules(t *testing.T) {
	ts := open(t, nil, Server{Name: "s", Transport: scripted(t, map[string]string{"tools/list": `{"tools":[
		{"name":"twice","inputSchema":{"type":"object"}},
		{"name":"twice","inputSchema":{"type":"object","required":["x"]}},
		{"name":"string","inputSchema":{"type":"string"}},
		{"name":"false","inputSchema":false},
		{"name":"broken","inputSchema":{"type":"object","properties":[]}},
		{"name":"dialect","inputSchema":{"$schema":"https://example.com/own"}},
		{"name":"foreign","inputSchema":{"properties":{"a":{"$ref":"https://example.com/s"}}}},
		{"name":"none"},
		{"name":"","inputSchema":{"type":"object"}}
	]}`})})
	wantTools(t, ts, "twice", "none", "_")
	skipped := ts.Servers()[0].Skipped
	check.Same(t, "skipped", slices.Sorted(maps.Keys(skipped)), []string{"broken", "dialect", "false", "foreign", "string", "twice"})
	check.Text(t, skipped["foreign"], "never fetched", "foreign")
}

func TestResultsThatBreakTheRules(t *testing.T) {
	const list = `{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`
	for result, want := range map[string]string{
		`{}`:                            "(the tool returned no content)",
		`{"content":null}`:              "(the tool returned no content)",
		`{"content":[{}]}`:              `[content of type "": {}]`,
		`{"content":[{"type":"text"}]}`: `[content of type "text": {"type":"text"}]`,
		`{"content":[{"type":"image","data":"?"}]}`: `[content of type "image": {"type":"image","data":"?"}]`,
		`{"content":[null]}`:                        "Error: the tool ran, but its result cannot be read",
		`{"content":"x"}`:                           "Error: the tool ran, but its result cannot be read",
		`[]`:                                        "Error: the tool ran, but its result cannot be read",
	} {
		ts := open(t, nil, Server{Name: "s", Transport: scripted(t, map[string]string{"tools/list": list, "tools/call": result})})
		r := callTool(t, ts, "x", "")
		check.That(t, r.Text == want && r.Fatal() == nil && r.IsError == strings.HasPrefix(want, "Error"),
			"%s: got %q, %v, want %q", result, r.Text, r.Err, want)
	}
}
