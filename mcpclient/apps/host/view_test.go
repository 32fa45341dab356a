package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// view is the view's end of a session.
type view struct {
	t    *testing.T
	conn transport.Conn
}

// open begins a session. The view has not said anything yet.
func open(t *testing.T, server host.Server, opts *host.Options) (*host.Session, *view) {
	t.Helper()
	transport, conn := mcpclient.Pipe()
	return openOver(t, conn, check.Value(transport.Dial(t.Context()))(t), server, opts)
}

// openOver begins a session over one end of a connection; the view has the other end.
func openOver(t *testing.T, conn, end transport.Conn, server host.Server, opts *host.Options) (*host.Session, *view) {
	t.Helper()
	s := check.Value(host.Open(t.Context(), conn, server, opts))(t)
	v := &view{t, end}
	t.Cleanup(func() {
		_ = end.Close()
		<-s.Done()
	})
	return s, v
}

// begun begins a session with a view that is ready. capabilities are the view's.
func begun(t *testing.T, server host.Server, opts *host.Options, capabilities string) (*host.Session, *view) {
	t.Helper()
	s, v := open(t, server, opts)
	v.greet(capabilities)
	return s, v
}

func (v *view) greet(capabilities string) (result string) {
	v.t.Helper()
	result = v.ask("0", "ui/initialize", `{"protocolVersion":"2026-01-26","appInfo":{"name":"v","version":"1"},"appCapabilities":`+capabilities+`}`)
	v.notify("ui/notifications/initialized", `{}`)
	return result
}

func (v *view) send(message string) {
	v.t.Helper()
	check.Must(v.t, v.conn.Send(context.Background(), []byte(message)))
}

func (v *view) notify(method, params string) {
	v.t.Helper()
	v.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

func (v *view) request(id, method, params string) {
	v.t.Helper()
	v.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
}

func (v *view) next() jsonrpc.Message {
	v.t.Helper()
	return check.Value(jsonrpc.Parse(check.Value(v.conn.Recv())(v.t)))(v.t)
}

// said is the next message of the host: "method params", "result" or "error code message".
func (v *view) said() string {
	v.t.Helper()
	m := v.next()
	switch {
	case m.Error != nil:
		var e mcp.RPCError
		_ = json.Unmarshal(m.Error, &e)
		return fmt.Sprintf("error %d %s", e.Code, e.Message)
	case m.Method != "":
		return m.Method + " " + string(m.Params)
	}
	return string(m.Result)
}

// ask sends a request and returns what the host says next.
func (v *view) ask(id, method, params string) string {
	v.t.Helper()
	v.request(id, method, params)
	return v.said()
}

// silent checks that the host has nothing to say. It works in a bubble.
func (v *view) silent(after string) {
	v.t.Helper()
	synctest.Wait()
	check.Equal(v.t, after, v.ask("99", "ping", `{}`), "{}")
}

func (v *view) want(want ...string) {
	v.t.Helper()
	var got []string
	for range want {
		got = append(got, v.said())
	}
	check.Same(v.t, "", got, want)
}

// scripted is a server with tools of each visibility.
type scripted struct {
	call func(ctx context.Context, name string, arguments json.RawMessage) (*mcp.CallToolResult, error)
	read func(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)
}

// Tools is the server's own list, the same each time.
func (s *scripted) Tools() []*mcp.Tool { return listed() }

var listed = sync.OnceValue(func() []*mcp.Tool {
	tool := func(name, meta string) *mcp.Tool {
		return &mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Meta: json.RawMessage(meta)}
	}
	return []*mcp.Tool{
		tool("plain", ``), tool("app", `{"ui":{"visibility":["app"]}}`),
		tool("model", `{"ui":{"visibility":["model"]}}`), tool("none", `{"ui":{"visibility":[]}}`), tool("broken", `{"ui":{"visibility":7}}`),
	}
})

func (s *scripted) CallTool(ctx context.Context, name string, arguments json.RawMessage, _ ...mcpclient.CallOption) (*mcp.CallToolResult, error) {
	if s.call == nil {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + string(arguments)}}}, nil
	}
	return s.call(ctx, name, arguments)
}

func (s *scripted) ReadResource(ctx context.Context, uri string, _ ...mcpclient.CallOption) (*mcp.ReadResourceResult, error) {
	if s.read == nil {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: "hello"}}}, nil
	}
	return s.read(ctx, uri)
}
