package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

func result(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: json.RawMessage(`{"n":1}`), Meta: json.RawMessage(`{"m":2}`)}
}

const wireResult = `{"content":[{"type":"text","text":"hi"}],"structuredContent":{"n":1},"_meta":{"m":2}}`

// "The Host MUST NOT send any request or notification to the View before it receives an initialized notification."
func TestNothingBeforeInitialized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := open(t, &scripted{}, &host.Options{Context: host.HostContext{Theme: "light"}})
		check.NoError(t, s.ToolInput(json.RawMessage(`{"a": 12}`)))
		check.NoError(t, s.ToolResult(result("hi")))
		check.NoError(t, s.SetContext(host.HostContext{Theme: "dark"}))
		synctest.Wait()
		got := v.ask("1", "ui/initialize", `{"protocolVersion":"2026-01-26","appInfo":{"name":"v","version":"1"},"appCapabilities":{}}`)
		check.Equal(t, "theme", string(jsonrpc.Lookup([]byte(got), "hostContext", "theme")), `"dark"`)
		check.NoError(t, s.SetContext(host.HostContext{Theme: "light", Locale: "it"}))
		synctest.Wait()
		select {
		case <-s.Ready():
			t.Error("the session is ready before the view has begun")
		default:
		}
		check.Equal(t, "nothing but the answer to ping", v.ask("2", "ping", `{}`), "{}")
		v.notify("ui/notifications/initialized", `{}`)
		v.want(`ui/notifications/tool-input {"arguments":{"a": 12}}`, `ui/notifications/tool-result `+wireResult,
			`ui/notifications/host-context-changed {"locale":"it","theme":"light"}`)
		<-s.Ready()
		v.silent("after all was told")
	})
}

func TestInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		width, most := 400.0, 600.0
		tool := &mcp.Tool{Name: "plain", InputSchema: json.RawMessage(`{"type":"object"}`)}
		s, v := open(t, &scripted{}, &host.Options{
			Host: mcp.Implementation{Name: "h", Version: "2"},
			Context: host.HostContext{
				ToolInfo: &host.ToolInfo{ID: json.RawMessage(`7`), Tool: tool}, AvailableDisplayModes: []string{"inline"},
				ContainerDimensions: &host.Dimensions{Width: &width, MaxHeight: &most},
			},
			CSP:            apps.CSP{ConnectDomains: []string{"https://a.example.com"}},
			Permissions:    []string{"camera"},
			OpenLink:       func(context.Context, string) error { return nil },
			OnModelContext: func([]mcp.Content, json.RawMessage) error { return nil },
		})
		got := v.greet(`{"tools":{"listChanged":true},"availableDisplayModes":["inline","pip"],"experimental":{}}`)
		for path, want := range map[string]string{
			"protocolVersion": `"2026-01-26"`, "hostInfo": `{"name":"h","version":"2"}`,
			"hostCapabilities openLinks": `{}`, "hostCapabilities serverTools": `{}`, "hostCapabilities serverResources": `{}`, "hostCapabilities logging": `{}`,
			"hostCapabilities sandbox": `{"csp":{"connectDomains":["https://a.example.com"]},"permissions":{"camera":{}}}`,
			"hostCapabilities message": ``, "hostCapabilities downloadFile": ``, "hostCapabilities sampling": ``,
			"hostCapabilities updateModelContext": `{"audio":{},"image":{},"resource":{},"resourceLink":{},"structuredContent":{},"text":{}}`,
			"hostContext":                         `{"availableDisplayModes":["inline"],"containerDimensions":{"maxHeight":600,"width":400},"displayMode":"inline","toolInfo":{"id":7,"tool":{"name":"plain","inputSchema":{"type":"object"}}}}`,
		} {
			check.Equal(t, path, string(jsonrpc.Lookup([]byte(got), strings.Fields(path)...)), want)
		}
		<-s.Ready()
	})
}

func TestInitializeRefused(t *testing.T) {
	for _, params := range []string{`{}`, `[]`, `{"protocolVersion":7}`, `{"protocolVersion":"2026-01-26","appInfo":"x"}`, `{"protocolVersion":"2026-01-26","appCapabilities":7}`} {
		synctest.Test(t, func(t *testing.T) {
			s, v := open(t, &scripted{}, nil)
			got := v.ask("1", "ui/initialize", params)
			check.That(t, strings.HasPrefix(got, "error -32602"), "%s: got %s, want it refused", params, got)
			v.notify("ui/notifications/initialized", `{}`)
			synctest.Wait()
			select {
			case <-s.Ready():
				t.Errorf("%s: the session is ready", params)
			default:
			}
		})
	}
}

// A view that has not sent ui/initialize reaches nothing. After that its requests are served: it may
// wait for their answers before it is ready.
func TestRequestsBeforeInitialized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		greeted := false
		server := &scripted{call: func(_ context.Context, name string, _ json.RawMessage) (*mcp.CallToolResult, error) {
			check.That(t, greeted, "%s was called before the handshake", name)
			return result("hi"), nil
		}}
		never := func(what string) { t.Errorf("the host heard %s", what) }
		s, v := open(t, server, &host.Options{
			OnSize: func(_, _ *float64) { never("size") }, OnLog: func(*mcp.LogMessage) { never("log") }, OnCloseRequest: func() { never("teardown") },
		})
		check.NoError(t, s.ToolInput(json.RawMessage(`{"a":1}`)))
		early := func() {
			v.notify("ui/notifications/size-changed", `{"height":1}`)
			v.notify("ui/notifications/request-teardown", `{}`)
			v.notify("notifications/message", `{"level":"info","data":1}`)
		}
		v.notify("ui/notifications/initialized", `{}`) // too early, it counts for nothing
		early()
		const call = `{"name":"plain","_meta":{"progressToken":1}}`
		check.Equal(t, "first of all", v.ask("1", "tools/call", call), "error -32600 the view has not sent ui/initialize")
		check.Equal(t, "ping", v.ask("2", "ping", `{}`), "{}")
		greeted = true
		v.ask("3", "ui/initialize", `{"protocolVersion":"2026-01-26","appInfo":{"name":"v","version":"1"},"appCapabilities":{}}`)
		early()
		check.Equal(t, "after ui/initialize", v.ask("4", "tools/call", call), wireResult)
		v.notify("ui/notifications/initialized", `{}`)
		v.want(`ui/notifications/tool-input {"arguments":{"a":1}}`)
		<-s.Ready()
	})
}

func TestSecondInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, v := begun(t, &scripted{}, nil, `{"availableDisplayModes":["inline"]}`)
		again := `{"protocolVersion":"2026-01-26","appInfo":{"name":"other","version":"1"},"appCapabilities":{"tools":{}}}`
		check.Equal(t, "", v.ask("1", "ui/initialize", again), "error -32600 the view is initialized already")
		v.notify("ui/notifications/initialized", `{}`)
		check.Equal(t, "the session to continue", v.ask("2", "ping", `{}`), "{}")
	})
}

func TestViewThatDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s, v := open(t, &scripted{}, nil)
		v.ask("0", "ui/initialize", `{"protocolVersion":"2026-01-26","appInfo":{"name":"v","version":"1"},"appCapabilities":{}}`)
		<-s.Done()
		if took := time.Since(start); took != 5*time.Minute || !strings.Contains(s.Err().Error(), "not ready within 5m0s") {
			t.Errorf("got %v after %v, want the end after 5 min", s.Err(), took)
		}
	})
}

// "Host MUST send this notification before tearing down the UI resource … SHOULD wait for a response."
func TestTeardown(t *testing.T) {
	for _, answer := range []string{`"result":{}`, `"error":{"code":-32000,"message":"Teardown error"}`} {
		synctest.Test(t, func(t *testing.T) {
			s, v := begun(t, &scripted{}, nil, `{}`)
			<-s.Ready()
			closed := make(chan error)
			go func() { closed <- s.Close(t.Context(), "the end") }()
			m := v.next()
			check.That(t, m.Method == "ui/resource-teardown" && string(m.Params) == `{"reason":"the end"}` && m.ID != nil,
				"got %s %s, want the request to end", m.Method, m.Params)
			synctest.Wait()
			check.That(t, s.Err() == nil, "got %v, want the session to wait for the answer", s.Err())
			v.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + answer + `}`)
			check.NoError(t, <-closed)
			check.Text(t, s.Err(), "the session with the view is closed")
			check.Equal(t, "the end of the connection", check.Err(v.conn.Recv()), io.EOF)
			check.NoError(t, s.Close(t.Context(), "again"), "again")
		})
	}
}

// What a view was told comes before it is asked to end, once, and nothing after.
func TestTeardownIsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := begun(t, &scripted{}, nil, `{}`)
		<-s.Ready()
		told := func() {
			check.NoError(t, errors.Join(s.ToolInput(nil), s.ToolResult(result("hi")), s.SetContext(host.HostContext{Theme: "dark"})))
		}
		closed := make(chan error, 3)
		const all = 100 // answers that the view does not read, so that the rest waits in the session
		for i := range all {
			v.request(fmt.Sprint(i), "ping", `{}`)
		}
		synctest.Wait()
		told()
		for range 3 {
			go func() { closed <- s.Close(t.Context(), "the end") }()
		}
		synctest.Wait()
		for range all {
			v.want("{}")
		}
		v.want(`ui/notifications/tool-input {"arguments":{}}`, `ui/notifications/tool-result `+wireResult, `ui/notifications/host-context-changed {"theme":"dark"}`)
		m := v.next()
		check.Require(t, m.Method == "ui/resource-teardown", "got %s, want the request to end", m.Method)
		_ = s.SetContext(host.HostContext{Theme: "light"})
		v.silent("after the request to end")
		check.That(t, len(closed) == 0, "a Close did not wait for the view")
		v.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`)
		for range 3 {
			check.NoError(t, <-closed)
		}
	})
}

func TestTeardownIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := begun(t, &scripted{}, nil, `{}`)
		<-s.Ready()
		start := time.Now()
		err := s.Close(t.Context(), "the end")
		if took := time.Since(start); took != 2*time.Second || !errors.Is(err, context.DeadlineExceeded) || s.Err() == nil {
			t.Errorf("got %v after %v, want the end after 2 s", err, took)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 3000 { // nobody waits for the answer: it must not be asked
			s, v := begun(t, &scripted{}, nil, `{}`)
			<-s.Ready()
			check.Is(t, s.Close(ended, "the end"), context.Canceled)
			check.Is(t, check.Err(v.conn.Recv()), io.EOF)
		}
		s, _ = open(t, &scripted{}, nil) // has not begun: it must not be asked
		start = time.Now()
		err = s.Close(t.Context(), "the end")
		check.That(t, err == nil && time.Since(start) == 0, "before it has begun: got %v after %v", err, time.Since(start))
	})
}

// The end of the connection ends the view's requests.
func TestConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		s, v := begun(t, &scripted{call: func(ctx context.Context, _ string, _ json.RawMessage) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}}, nil, `{}`)
		v.request("1", "tools/call", `{"name":"plain"}`)
		synctest.Wait()
		_ = v.conn.Close()
		<-s.Done()
		err := <-ended
		check.That(t, err != nil && errors.Is(s.Err(), io.EOF), "got %v and %v", err, s.Err())
		check.NoError(t, s.Close(t.Context(), ""))
		check.NoError(t, s.ToolInput(nil), "after the end")
	})
}

func TestCloseDoesNotWaitForTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s, v := begun(t, &scripted{call: func(context.Context, string, json.RawMessage) (*mcp.CallToolResult, error) {
			<-release
			return result("late"), nil
		}}, nil, `{}`)
		v.request("1", "tools/call", `{"name":"plain"}`)
		synctest.Wait()
		_ = s.Close(t.Context(), "")
		select {
		case <-s.Done():
			t.Error("Done is closed while the host's code runs")
		default:
		}
		close(release)
		<-s.Done()
	})
}

// "Host SHOULD log CSP configurations for security review."
func TestSandboxIsLogged(t *testing.T) {
	var logged bytes.Buffer
	open(t, &scripted{}, &host.Options{
		CSP:         apps.CSP{ConnectDomains: []string{"https://api.example.com"}},
		Permissions: []string{"camera"},
		Logger:      slog.New(slog.NewJSONHandler(&logged, nil)),
	})
	for _, want := range []string{`"csp":{"connectDomains":["https://api.example.com"]}`, `"permissions":["camera"]`} {
		check.That(t, strings.Contains(logged.String(), want), "got the log %s, want it with %s", &logged, want)
	}
}

// Open ends the connection if it begins no session.
func TestOpenRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, tt := range map[string]struct {
			server host.Server
			opts   host.Options
		}{
			"encode the context of the host": {&scripted{}, host.Options{Context: host.HostContext{ToolInfo: &host.ToolInfo{ID: json.RawMessage(`{`)}}}},
			"Open needs a server":            {nil, host.Options{}},
			"Rate:-1":                        {&scripted{}, host.Options{Limits: host.Limits{Rate: -1}}},
			"Incoming:-1":                    {&scripted{}, host.Options{Limits: host.Limits{Incoming: -1}}},
			"RequestTimeout:-1s":             {&scripted{}, host.Options{Limits: host.Limits{RequestTimeout: -time.Second}}},
		} {
			transport, conn := mcpclient.Pipe()
			end := check.Value(transport.Dial(t.Context()))(t)
			check.Text(t, check.Err(host.Open(t.Context(), conn, tt.server, &tt.opts)), want)
			check.Fails(t, check.Err(end.Recv()), "the connection is open")
		}
		check.Fails(t, check.Err(host.Open(t.Context(), nil, &scripted{}, nil)), "no connection")
	})
}

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
