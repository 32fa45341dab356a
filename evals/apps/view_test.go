package apps_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
