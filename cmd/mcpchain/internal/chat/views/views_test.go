package views

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const patience = time.Minute

// asked is a person who records questions, and answers as the test wants.
type asked struct {
	mu    sync.Mutex // guards the fields below
	heard []string
	no    bool
	wait  bool // for the end of the context
}

func (p *asked) question(ctx context.Context, text string) error {
	p.mu.Lock()
	p.heard = append(p.heard, text)
	no, wait := p.no, p.wait
	p.mu.Unlock()
	if wait {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if no {
		return apps.ErrDenied
	}
	return nil
}

func (p *asked) Approve(ctx context.Context, a *approval.Request) (approval.Decision, error) {
	err := p.question(ctx, fmt.Sprintf("call %s %s by %s", a.Definition.Name, a.Arguments, a.View))
	return approval.Decision{Allow: err == nil}, nil
}

func (p *asked) Elicit(ctx context.Context, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if err := p.question(ctx, "form "+params.Message); err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"name": "Ada"}}, nil
}

func (p *asked) OpenLink(ctx context.Context, server, url string) error {
	return p.question(ctx, "link "+server+" "+url)
}

func (p *asked) TakeMessage(ctx context.Context, server, text string) error {
	return p.question(ctx, "message "+server+" "+text)
}

func (p *asked) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.heard...)
}

// board is a server with a tool that has a view, and a tool for views that asks the person for a name.
func board(t *testing.T) *adapter.Toolset {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "board", Version: "1"}, nil)
	s.AddResource(&sdk.Resource{URI: "ui://board/v", Name: "v", MIMEType: "text/html;profile=mcp-app"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "ui://board/v", MIMEType: "text/html;profile=mcp-app", Text: "<p>the board", Meta: sdk.Meta{"ui": map[string]any{"csp": map[string]any{"connectDomains": []string{"https://a.example"}}}}}}}, nil
	})
	text := func(s string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
	}
	sdk.AddTool(s, &sdk.Tool{Name: "show", Meta: sdk.Meta{"ui": map[string]any{"resourceUri": "ui://board/v"}}}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return text("shown"), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "pin", Meta: sdk.Meta{"ui": map[string]any{"visibility": []string{"app"}}}}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		got, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil {
			return nil, nil, err
		}
		return text(fmt.Sprint("pinned by ", got.Content["name"])), nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "secret", Meta: sdk.Meta{"ui": map[string]any{"visibility": []string{"model"}}}}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return text("secret"), nil, nil
	})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	opts := check.Value(apps.Declare(&mcpclient.Options{Elicitation: &asked{no: true}}))(t)
	ts, err := adapter.Open(t.Context(), []adapter.Server{{Name: "board", Transport: &mcpclient.HTTP{URL: server.URL}}}, &adapter.Options{ClientOptions: opts})
	check.Must(t, err)
	t.Cleanup(func() { _ = ts.Close(); server.CloseClientConnections(); server.Close() })
	return ts
}

// offered returns a service with one view, and the address of the view. ended is called after each call of the view.
func offered(t *testing.T, who Person, ended func(*Call)) (*Service, string) {
	t.Helper()
	aside := func(ctx context.Context) (context.Context, func()) { return ctx, func() {} }
	s := New(Options{Tools: board(t), Person: who, OnCallStart: func(*Call) {}, OnCallEnd: ended, Interruptible: aside})
	t.Cleanup(s.Close)
	return s, offer(t, s, "{}")
}

func offer(t *testing.T, s *Service, arguments string) string {
	t.Helper()
	catalog := s.opts.Tools.Catalog(profile.Plain)
	res := catalog.Call(t.Context(), llms.ToolCall{ID: "1", Type: "function", FunctionCall: &llms.FunctionCall{Name: "show", Arguments: "{}"}})
	check.Require(t, res.Raw != nil, "%v", res.Err)
	return check.Value(s.Offer(res.Tool, json.RawMessage(arguments), res.Raw))(t)
}

// page is the page of a view. The test takes the part of the view.
type page struct {
	t       *testing.T
	address string
	body    io.ReadCloser
	lines   *bufio.Reader
	opened  openedSession
	id      int
	said    int // messages
}

func post(t *testing.T, address, body string) *http.Response {
	t.Helper()
	r := check.Value(http.NewRequestWithContext(t.Context(), "POST", address, strings.NewReader(body)))(t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://"+r.Host)
	res := check.Value(http.DefaultClient.Do(r))(t)
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func load(t *testing.T, address string) *page {
	t.Helper()
	res := post(t, address+"open", `{"theme":"dark","width":500,"height":300}`)
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("got %s: %s", res.Status, text)
	}
	p := &page{t: t, address: address, body: res.Body, lines: bufio.NewReader(res.Body)}
	first := p.next()
	check.Require(t, first.Opened != nil, "got %+v, want how to show the view", first)
	p.opened = *first.Opened
	return p
}

func (p *page) begin() map[string]any {
	p.t.Helper()
	answer := p.ask("ui/initialize", `{"protocolVersion":"2026-01-26","appInfo":{"name":"v","version":"1"},"appCapabilities":{}}`)
	p.say(`{"jsonrpc":"2.0","method":"ui/notifications/initialized"}`)
	return answer["result"].(map[string]any)
}

func (p *page) next() (l responseLine) {
	p.t.Helper()
	check.Must(p.t, json.Unmarshal(check.Value(p.lines.ReadBytes('\n'))(p.t), &l))
	return l
}

func (p *page) say(message string) {
	p.t.Helper()
	p.sayFrom(p.said, message)
	p.said++
}

// sayFrom says messages. first is the number of the first one.
func (p *page) sayFrom(first int, messages string) {
	p.t.Helper()
	res := post(p.t, p.address+"messages/"+p.opened.Session, fmt.Sprintf(`{"first":%d,"messages":[%s]}`, first, messages))
	check.Require(p.t, res.StatusCode == http.StatusNoContent, "got %s", res.Status)
}

func (p *page) ask(method, params string) map[string]any {
	p.t.Helper()
	p.id++
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.id, method, params))
	return p.until(func(m map[string]any) bool { return m["id"] == float64(p.id) && m["method"] == nil })
}

func (p *page) until(fits func(map[string]any) bool) map[string]any {
	p.t.Helper()
	for {
		var m map[string]any
		if l := p.next(); l.Message == nil || json.Unmarshal(l.Message, &m) != nil || !fits(m) {
			continue
		}
		return m
	}
}

func (p *page) notified(method string) any {
	p.t.Helper()
	return p.until(func(m map[string]any) bool { return m["method"] == method })["params"]
}

// A view gets the call and its result. Its own calls go to its server, after the same approval as calls of the model.
func TestView(t *testing.T) {
	who := &asked{}
	var mu sync.Mutex
	var calls []string
	s, address := offered(t, who, func(c *Call) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, fmt.Sprintf("%s %s %s %v", c.Server, c.Tool, c.Arguments, c.Err))
	})
	p := load(t, address)
	if got := p.opened; got.Server != "board" || got.Tool != "show" || got.HTML != "<p>the board" || got.Origin != s.frames || s.frames == s.origin ||
		!cmp.Equal(got.Reaches, []string{"https://a.example"}) || strings.Contains(got.Sandbox, "popups") {
		t.Errorf("got %+v", got)
	}
	context := p.begin()["hostContext"].(map[string]any)
	check.That(t, context["theme"] == "dark" && context["containerDimensions"].(map[string]any)["maxHeight"] == 300.0 && context["toolInfo"].(map[string]any)["tool"].(map[string]any)["name"] == "show",
		"got the context %v", context)
	check.Same(t, "input", p.notified("ui/notifications/tool-input"), any(map[string]any{"arguments": map[string]any{}}))
	check.Contains(t, "the result", fmt.Sprint(p.notified("ui/notifications/tool-result")), "text:shown")
	check.Contains(t, "", fmt.Sprint(p.ask("tools/call", `{"name":"pin","arguments":{}}`)), "pinned by Ada")
	got := p.ask("tools/call", `{"name":"secret","arguments":{}}`)
	check.That(t, got["error"] != nil, "got %v, want no tool that is for models alone", got)
	who.mu.Lock()
	who.no = true
	who.mu.Unlock()
	check.Contains(t, "it denied", fmt.Sprint(p.ask("tools/call", `{"name":"pin","arguments":{}}`)["error"]), "denied")
	check.Same(t, "asked", who.all(), []string{"call pin {} by ui://board/v", "form Who?", "call pin {} by ui://board/v"})
	p.say(`{"jsonrpc":"2.0","method":"ui/notifications/size-changed","params":{"height":123}}`)
	for p.next().Height != 123 {
	}
	mu.Lock()
	defer mu.Unlock()
	check.That(t, len(calls) == 2 && calls[0] == "board pin {} <nil>", "heard of the calls %q", calls)
}

// A page that has lost the answer says a message again: the session gets it once.
func TestSaidAgain(t *testing.T) {
	_, address := offered(t, &asked{}, nil)
	p := load(t, address)
	p.begin()
	for range 2 {
		p.sayFrom(p.said, `{"jsonrpc":"2.0","id":"again","method":"ping"}`)
	}
	p.said++
	answers := 0
	p.id++
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, p.id))
	p.until(func(m map[string]any) bool {
		if m["id"] == "again" {
			answers++
		}
		return m["id"] == float64(p.id) && m["method"] == nil
	})
	check.Equal(t, "answers", answers, 1)
}

// The person is asked what a view wants, until the person has refused several times.
func TestViewAsks(t *testing.T) {
	who := &asked{}
	s, address := offered(t, who, nil)
	p := load(t, address)
	p.begin()
	link, message := `{"url":"https://b.example/x"}`, `{"role":"user","content":{"type":"text","text":"hello"}}`
	for method, params := range map[string]string{"ui/open-link": link, "ui/message": message, "ui/update-model-context": `{"content":[{"type":"text","text":" two notes "}]}`} {
		got := p.ask(method, params)
		check.That(t, got["error"] == nil, "%s: got %v", method, got["error"])
	}
	check.Same(t, "told", s.TakeModelContexts(), []ModelContext{{"board", "two notes"}})
	check.Equal(t, "told again", len(s.TakeModelContexts()), 0)
	got := p.ask("ui/update-model-context", `{"content":[{"type":"text","text":"`+strings.Repeat("x", 20<<10)+`"}]}`)
	check.That(t, got["error"] != nil && s.TakeModelContexts() == nil, "got %v, want much text refused", got)
	who.mu.Lock()
	who.no, who.heard = true, nil
	who.mu.Unlock()
	for range maxRefused + 3 {
		p.ask("ui/open-link", link)
	}
	if got := fmt.Sprint(p.ask("ui/message", message)["error"]); len(who.all()) != maxRefused || !strings.Contains(got, "not asked again") {
		t.Errorf("asked %d times, want %d; the view is told %s", len(who.all()), maxRefused, got)
	}
}

// Closing a page asks the view to end. A page that is gone cancels its questions, and closing the service ends all pages.
func TestEnd(t *testing.T) {
	who := &asked{}
	s, address := offered(t, who, nil)
	p := load(t, address)
	p.begin()
	closed := make(chan int, 1)
	go func() { closed <- post(t, p.address+"close/"+p.opened.Session, "{}").StatusCode }()
	m := p.until(func(m map[string]any) bool { return m["method"] == "ui/resource-teardown" })
	p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{}}`, m["id"]))
	check.Equal(t, "", <-closed, http.StatusNoContent)
	check.NoError(t, check.Err(io.ReadAll(p.lines)), "the page is told the end")
	check.Equal(t, "a message after the end", post(t, p.address+"messages/"+p.opened.Session, `{"messages":[]}`).StatusCode, http.StatusNotFound)

	who.mu.Lock()
	who.wait = true
	who.mu.Unlock()
	p = load(t, address)
	p.begin()
	p.say(`{"jsonrpc":"2.0","id":77,"method":"ui/open-link","params":{"url":"https://b.example/"}}`)
	for end := time.Now().Add(patience); len(who.all()) == 0; time.Sleep(time.Millisecond) {
		check.Require(t, !time.Now().After(end), "nothing is asked")
	}
	_ = p.body.Close() // ends the question: Close waits for it
	s.Close()
	check.Fails(t, check.Err(s.Offer(nil, nil, nil)), "a view was offered after the end")
	late := httptest.NewRecorder()
	s.handleOpen(late, nil, nil)
	check.Equal(t, "an open after the end", late.Code, http.StatusServiceUnavailable)
	for _, origin := range []string{s.origin, s.frames} {
		if conn, err := net.Dial("tcp", strings.TrimPrefix(origin, "http://")); err == nil {
			_ = conn.Close()
			t.Errorf("%s listens after the end", origin)
		}
	}
}

// What net/http logs, such as the panic of a handler, is not written to the terminal.
func TestServerIsSilent(t *testing.T) {
	var written bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&written)
	l := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := New(Options{})
	s.serveLocked(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("in a handler") }))
	check.Fails(t, check.Err(http.Get("http://"+l.Addr().String())), "got a response of a handler that panics")
	s.Close()
	check.Equal(t, "written", written.String(), "")
}

// late is a connection whose Receive returns late after its end.
type late struct {
	transport.Conn
	notice chan struct{}
}

func (c *late) Recv() ([]byte, error) {
	raw, err := c.Conn.Recv()
	if err != nil {
		<-c.notice
	}
	return raw, err
}

// A session has ended only when no goroutine receives from its view.
func TestEndWaitsForTheView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, conn := mcpclient.Pipe()
		n := &session{service: New(Options{}), conn: &late{check.Value(transport.Dial(t.Context()))(t), make(chan struct{})}}
		n.host = check.Value(host.Open(t.Context(), conn, &viewServer{session: n}, nil))(t)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		n.stream(gone, httptest.NewRecorder())
		ended := make(chan struct{})
		go func() { n.close(); close(ended) }()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("the session has ended, and something receives from its view")
		default:
		}
		close(n.conn.(*late).notice)
		<-ended
	})
}

// Nothing listens before the first view. The page refuses other hosts, origins and tokens.
func TestGuard(t *testing.T) {
	check.That(t, New(Options{}).servers == nil, "the service listens without a view")
	s, address := offered(t, &asked{}, nil)
	own := s.origin
	for _, tt := range []struct {
		what, method, url, host, origin, kind string
		want                                  int
	}{
		{"the page", "GET", address, "", "", "", 200},
		{"its script", "GET", address + "page.js", "", own, "", 200},
		{"no token", "GET", own + "/", "", "", "", 404},
		{"a wrong token", "GET", own + "/" + strings.Repeat("A", 26) + "/", "", "", "", 404},
		{"the script without a token", "GET", own + "/page.js", "", "", "", 404},
		{"a file beside the page", "GET", address + "..%2fsite.go", "", "", "", 404},
		{"another host", "GET", address, "evil.example", "", "", 421},
		{"another name of this machine", "GET", address, strings.Replace(strings.TrimPrefix(own, "http://"), "127.0.0.1", "localhost", 1), "", "", 421},
		{"another origin", "GET", address, "", "https://evil.example", "", 403},
		{"the origin of views", "POST", address + "open", "", s.frames, "application/json", 403},
		{"a form of another site", "POST", address + "open", "", "null", "text/plain", 403},
		{"no origin", "POST", address + "open", "", "", "application/json", 403},
		{"a form", "POST", address + "open", "", own, "text/plain", 415},
		{"a wrong token to open", "POST", own + "/" + strings.Repeat("A", 26) + "/open", "", own, "application/json", 404},
		{"a wrong session", "POST", address + "messages/x", "", own, "application/json", 404},
		{"the sandbox has no page", "GET", s.frames + strings.TrimPrefix(address, own), "", "", "", 404},
	} {
		r := check.Value(http.NewRequestWithContext(t.Context(), tt.method, tt.url, bytes.NewReader([]byte("{}"))))(t)
		if tt.host != "" {
			r.Host = tt.host
		}
		for name, value := range map[string]string{"Origin": tt.origin, "Content-Type": tt.kind} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		res := check.Value(http.DefaultClient.Do(r))(t)
		_ = res.Body.Close()
		check.Equal(t, tt.what, res.StatusCode, tt.want)
		policy := res.Header.Get("Content-Security-Policy")
		check.That(t, tt.want != 200 || strings.HasSuffix(policy, "frame-src "+s.frames), "%s: got the policy %q", tt.what, policy)
	}
}

// Views, their content and open pages are bounded.
func TestBounds(t *testing.T) {
	s, first := offered(t, &asked{}, nil)
	for range maxOpen {
		load(t, first)
	}
	check.Equal(t, "one page too many", post(t, first+"open", "{}").StatusCode, http.StatusTooManyRequests)
	large := offer(t, s, `{"a":"`+strings.Repeat("x", maxBytes)+`"}`)
	check.That(t, s.find(strings.Split(first, "/")[3]) == nil && s.find(strings.Split(large, "/")[3]) != nil, "want the newest view alone")
	for range maxViews + 2 {
		offer(t, s, "{}")
	}
	check.That(t, len(s.views) == maxViews && len(s.order) == maxViews && s.find(strings.Split(large, "/")[3]) == nil, "got %d views, want %d", len(s.views), maxViews)
}
