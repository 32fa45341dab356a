package apps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The official host library and this module's host run the same views, with the same calls. What differs in
// the messages that they send stands in the table of docs/apps.md, with the reason.
func TestOfficialHost(t *testing.T) {
	servers := testenv.InstallNPM(t, os.DirFS("testdata/servers"))
	all := map[string]bool{}
	for _, tt := range []struct {
		name, tool string
		drawn      string      // what text says of the result r, in JavaScript
		calls      string      // the request that the view makes by itself, "" for none
		clicks     [][2]string // ids of buttons, and the request that the view makes then
	}{
		{"basic-vanillajs", "get-time", `text.includes(r.structuredContent.time)`, "", [][2]string{{"send-message-btn", "ui/message"}, {"open-link-btn", "ui/open-link"}, {"get-time-btn", "tools/call get-time"}}},
		{"cohort-heatmap", "get-cohort-data", `r.structuredContent.cohorts.every((c) => text.includes(c.cohortLabel))`, "tools/call get-cohort-data", nil},
		{"debug", "debug-tool", `text.includes(String(r._meta.debugInfo.processedAt))`, "tools/call debug-log", [][2]string{
			{"send-message-text-btn", "ui/message"}, {"update-context-structured-btn", "ui/update-model-context"}, {"display-fullscreen-btn", "ui/request-display-mode"}, {"call-debug-refresh-btn", "tools/call debug-refresh"},
		}},
		{"system-monitor", "get-system-info", `text.includes(r.structuredContent.hostname)`, "tools/call poll-system-stats", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCall(t, servers, tt.name, tt.tool)
			use := func(s *shown) {
				s.draws(c, tt.drawn)
				if tt.calls != "" {
					s.answered(tt.calls)
				}
				for _, click := range tt.clicks {
					inView[bool](s, fmt.Sprintf("parent !== top && document.getElementById(%q)", click[0]), fmt.Sprintf("document.getElementById(%q).click() ?? true", click[0]))
					s.answered(click[1])
				}
			}
			for _, path := range differences(c.inSession(t, use), c.inLibrary(t, servers, use)) {
				all[path] = true
			}
		})
	}
	t.Run("a view that tries the rules", func(t *testing.T) {
		c := &call{tool: &mcp.Tool{Name: "one", InputSchema: json.RawMessage(`{"type":"object"}`)}, result: &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "r"}}}}
		c.tools = []*mcp.Tool{c.tool}
		c.view = document(t, `
			await begin();
			for (const [method, params] of [
				["ping"], ["unknown"], ["tools/list"], ["resources/list"], ["prompts/list"], ["tools/call", {}], ["ui/open-link", {}], ["ui/message", { role: "assistant" }],
				["ui/download-file", { contents: [] }], ["sampling/createMessage", { messages: [], maxTokens: 1 }], ["ui/request-display-mode", { mode: "pip" }],
				["ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "other", version: "1" }, appCapabilities: {} }],
			]) await ask(method, params);
			document.body.textContent = "asked everything";
		`)
		use := func(s *shown) { inView[bool](s, `document.body.textContent === "asked everything"`, "true") }
		for _, path := range differences(c.inSession(t, use), c.inLibrary(t, servers, use)) {
			all[path] = true
		}
	})
	check.Same(t, "differences, and those that docs/apps.md explains", slices.Sorted(maps.Keys(all)), explained(t))
}

// explained are the differences in the table of docs/apps.md.
func explained(t *testing.T) []string {
	t.Helper()
	guide := check.Value(os.ReadFile("../../docs/apps.md"))(t)
	_, rest, _ := strings.Cut(string(guide), "| the official host library |")
	table, _, _ := strings.Cut(rest, "\n\n")
	var out []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		out = append(out, row[1])
	}
	slices.Sort(out)
	return out
}

// call is a call of a tool with a view. It is the server of the view, too, and answers a call
// that it knows as it did before: so both hosts pass on the same.
type call struct {
	tool   *mcp.Tool
	tools  []*mcp.Tool
	view   *apps.View
	result *mcp.CallToolResult
	client *mcpclient.Client

	mu    sync.Mutex // guards known
	known map[string]*mcp.CallToolResult
}

func newCall(t *testing.T, servers *testenv.NPM, server, tool string) *call {
	t.Helper()
	opts := check.Value(apps.Declare(nil))(t)
	client, err := mcpclient.Connect(t.Context(), &mcpclient.Command{
		Path: servers.Node(), Args: []string{filepath.Join(servers.Module("@modelcontextprotocol/server-"+server), "dist", "index.js"), "--stdio"},
	}, opts)
	check.Must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	c := &call{client: client, known: map[string]*mcp.CallToolResult{}}
	for found, err := range client.Tools(t.Context()) {
		check.Must(t, err)
		c.tools = append(c.tools, found)
		if found.Name == tool {
			c.tool = found
		}
	}
	check.Require(t, c.tool != nil, "there is no tool %q", tool)
	about, err := apps.ReadToolMeta(c.tool)
	check.Must(t, err)
	c.view, err = apps.Load(t.Context(), client, about.ResourceURI)
	check.Must(t, err)
	c.result, err = client.CallTool(t.Context(), tool, map[string]any{})
	check.Must(t, err)
	return c
}

func (c *call) Tools() []*mcp.Tool { return c.tools }

func (c *call) CallTool(ctx context.Context, name string, arguments json.RawMessage, opts ...mcpclient.CallOption) (*mcp.CallToolResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if res := c.known[name]; res != nil {
		return res, nil
	}
	res, err := c.client.CallTool(ctx, name, arguments, opts...)
	if err == nil {
		c.known[name] = res
	}
	return res, err
}

func (c *call) ReadResource(ctx context.Context, uri string, opts ...mcpclient.CallOption) (*mcp.ReadResourceResult, error) {
	return c.client.ReadResource(ctx, uri, opts...)
}

// context is what both hosts tell of themselves.
func (c *call) context() host.HostContext {
	return host.HostContext{
		ToolInfo: &host.ToolInfo{ID: json.RawMessage("7"), Tool: c.tool}, Theme: "light", Locale: "en-US", TimeZone: "Europe/Rome", Platform: "web",
		AvailableDisplayModes: []string{"inline", "fullscreen"},
	}
}

var program = mcp.Implementation{Name: "comparison", Version: "1"}

// inSession are the messages that a session of this module sends.
func (c *call) inSession(t *testing.T, use func(*shown)) map[string]any {
	t.Helper()
	s := show(t, c.view, c, &host.Options{
		Host: program, Context: c.context(),
		OpenLink:       func(context.Context, string) error { return nil },
		Message:        func(context.Context, []mcp.Content) error { return nil },
		OnModelContext: func([]mcp.Content, json.RawMessage) error { return nil },
		DisplayMode:    func(_ context.Context, mode string) (string, error) { return mode, nil },
	}, false)
	s.ready()
	check.NoError(t, s.session.ToolInput(json.RawMessage(`{}`)))
	check.NoError(t, s.session.ToolResult(c.result))
	use(s)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	check.NoError(t, s.session.Close(ctx, "the end"))
	return s.messages()
}

// inLibrary are the messages that the official library sends.
func (c *call) inLibrary(t *testing.T, servers *testenv.NPM, use func(*shown)) map[string]any {
	t.Helper()
	page := listen(t)
	s := newShown(t, page)
	frame := s.sandbox(c.view, false)
	none := struct{}{}
	content := map[string]any{"text": none, "image": none, "audio": none, "resource": none, "resourceLink": none}
	withData := maps.Clone(content)
	withData["structuredContent"] = none
	permissions := map[string]any{}
	for _, name := range frame.Permissions {
		permissions[name] = none
	}
	about := map[string]any{
		"host": program, "context": c.context(), "arguments": map[string]any{}, "result": c.result,
		"capabilities": map[string]any{
			"openLinks": none, "logging": none, "serverTools": none, "serverResources": none,
			"message": content, "updateModelContext": withData, "sandbox": map[string]any{"csp": frame.CSP, "permissions": permissions},
		},
	}
	mux := http.NewServeMux()
	mux.Handle("GET /npm/", http.StripPrefix("/npm/", scripts(http.FileServer(http.Dir(servers.Path("node_modules"))))))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		s.fill(w, "testdata/library.html", "VIEW", frame, "CALL", about, "DOCUMENT", string(c.view.HTML))
	})
	mux.HandleFunc("POST /call", func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Name      string
			Arguments json.RawMessage
		}
		raw, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(raw, &asked)
		}
		var res *mcp.CallToolResult
		if err == nil {
			res, err = c.CallTool(r.Context(), asked.Name, asked.Arguments)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(res)
	})
	serve(t, page, mux)
	s.open()
	use(s)
	eval[bool](s, "end().then(() => true, () => true)")
	return s.messages()
}

// scripts serves modules with the type that browsers want.
func scripts(files http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		files.ServeHTTP(w, r)
	})
}

// answered waits until the host has answered a request of the view.
func (s *shown) answered(request string) {
	s.t.Helper()
	s.await("an answer to "+request, func() bool { return s.messages()["answer to "+request] != nil })
}

// messages are what the host has sent: the first of each kind, without ids, and of errors the code.
func (s *shown) messages() map[string]any {
	s.t.Helper()
	var heard, told []map[string]any
	for list, name := range map[*[]map[string]any]string{&heard: "heard", &told: "told"} {
		check.Must(s.t, json.Unmarshal([]byte(eval[string](s, "JSON.stringify("+name+")")), list))
	}
	asked := map[string]string{}
	for _, m := range heard {
		if m["id"] != nil && m["method"] != nil {
			name := m["method"].(string)
			if params, _ := m["params"].(map[string]any); params["name"] != nil {
				name += " " + fmt.Sprint(params["name"])
			}
			if name == "ui/initialize" && len(asked) > 0 {
				name = "a second ui/initialize"
			}
			asked[fmt.Sprint(m["id"])] = name
		}
	}
	out := map[string]any{}
	for _, m := range told {
		name, _ := m["method"].(string)
		if name == "" {
			name = "answer to " + asked[fmt.Sprint(m["id"])]
		}
		delete(m, "id")
		if failed, _ := m["error"].(map[string]any); failed != nil {
			m["error"] = map[string]any{"code": failed["code"]}
		}
		if _, seen := out[name]; !seen && !strings.HasPrefix(name, "ui/notifications/sandbox-") { // the page's own, not the session's
			out[name] = m
		}
	}
	return out
}

func differences(ours, theirs any) []string {
	a, isMap := ours.(map[string]any)
	b, both := theirs.(map[string]any)
	if !isMap || !both {
		x, _ := json.Marshal(ours)
		y, _ := json.Marshal(theirs)
		if string(x) == string(y) {
			return nil
		}
		return []string{""}
	}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		x, inA := a[key]
		y, inB := b[key]
		if inA != inB && key == "error" { // one refuses, the other does not
			return []string{""}
		}
		if inA != inB {
			out = append(out, key)
			continue
		}
		for _, path := range differences(x, y) {
			out = append(out, strings.TrimSuffix(key+": "+path, ": "))
		}
	}
	return out
}

// Servers of the official repository, whose views are made with the official library: each view
// begins, gets the call and its result, draws values of the result, tells its size, and is torn
// down. TestOfficialHost has four more.
func TestServers(t *testing.T) {
	servers := testenv.InstallNPM(t, os.DirFS("testdata/servers"))
	for _, tt := range []struct {
		name, tool string
		calls      string // what the view itself calls, "" for nothing
		drawn      string // what text says of the result r, in JavaScript
	}{
		{"basic-react", "get-time", "", `text.includes(r.content[0].text)`},
		{"budget-allocator", "get-budget-data", "", `r.structuredContent.config.categories.every((c) => text.includes(c.name))`},
		{"customer-segmentation", "get-customer-data", "tools/call get-customer-data",
			`[...text.matchAll(/\((\d+)\)/g)].reduce((n, m) => n + Number(m[1]), 0) === JSON.parse(r.content[0].text).customers.length`},
		{"scenario-modeler", "get-scenario-data", "", `r.structuredContent.templates.every((t) => text.includes(t.name))`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCall(t, servers, tt.name, tt.tool)
			c.inSession(t, func(s *shown) {
				s.draws(c, tt.drawn)
				if tt.calls != "" {
					s.answered(tt.calls)
				}
				s.await("the view to say its size", func() bool {
					return eval[bool](s, `heard.some((m) => m.method === "ui/notifications/size-changed")`)
				})
				all := s.errors()
				check.That(t, len(all) == 0, "the console says %q", all)
			})
		})
	}
}

// draws waits until the view shows the result of its call, as the expression in JavaScript says.
func (s *shown) draws(c *call, expression string) {
	s.t.Helper()
	raw, err := json.Marshal(c.result)
	check.Must(s.t, err)
	inView[bool](s, fmt.Sprintf("parent !== top && ((r, text) => %s)(%s, document.body.innerText)", expression, raw), "true")
}
