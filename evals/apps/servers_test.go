package apps_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
)

// Servers of the official repository, whose views are made with the official library: each view
// begins, gets the call and its result, draws values of the result, tells its size, and is torn down.
func TestServers(t *testing.T) {
	servers := testenv.InstallNPM(t, os.DirFS("testdata/servers"))
	for _, tt := range []struct {
		name, tool string
		calls      string // what the view itself calls, "" for nothing
		drawn      string // what text says of the result r, in JavaScript
	}{
		{"basic-react", "get-time", "", `text.includes(r.content[0].text)`},
		{"basic-vanillajs", "get-time", "", `text.includes(r.structuredContent.time)`},
		{"budget-allocator", "get-budget-data", "", `r.structuredContent.config.categories.every((c) => text.includes(c.name))`},
		{"cohort-heatmap", "get-cohort-data", "get-cohort-data", `r.structuredContent.cohorts.every((c) => text.includes(c.cohortLabel))`},
		{"customer-segmentation", "get-customer-data", "get-customer-data", `[...text.matchAll(/\((\d+)\)/g)].reduce((n, m) => n + Number(m[1]), 0) === JSON.parse(r.content[0].text).customers.length`},
		{"debug", "debug-tool", "", `text.includes(String(r._meta.debugInfo.processedAt))`},
		{"scenario-modeler", "get-scenario-data", "", `r.structuredContent.templates.every((t) => text.includes(t.name))`},
		{"system-monitor", "get-system-info", "poll-system-stats", `text.includes(r.structuredContent.hostname)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex
			var approved []string
			opts, err := apps.Declare(nil)
			if err != nil {
				t.Fatal(err)
			}
			ts, err := adapter.Open(t.Context(), []adapter.Server{{Name: tt.name, Transport: &mcpclient.Command{
				Path: servers.Node(), Args: []string{filepath.Join(servers.Module("@modelcontextprotocol/server-"+tt.name), "dist", "index.js"), "--stdio"},
			}}}, &adapter.Options{Client: opts, Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
				mu.Lock()
				defer mu.Unlock()
				approved = append(approved, a.View+" "+a.Definition.Name)
				return approval.Allow(), nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ts.Close() }()
			i := slices.IndexFunc(ts.Servers()[0].Tools, func(tool *adapter.Tool) bool { return tool.Definition().Name == tt.tool })
			if i < 0 {
				t.Fatalf("there is no tool %q", tt.tool)
			}
			tool := ts.Servers()[0].Tools[i]
			view, err := apps.Load(t.Context(), tool.Client(), tool.ViewURI())
			if err != nil {
				t.Fatal(err)
			}
			res, err := tool.Client().CallTool(t.Context(), tt.tool, map[string]any{})
			if err != nil {
				t.Fatal(err)
			}
			sized, once := make(chan bool), sync.Once{}
			s := show(t, view, ts.ViewAccess(tt.name, view.URI), &host.Options{
				Context: host.Context{ToolInfo: &host.ToolInfo{Tool: tool.Definition()}, Theme: "light"},
				OnSize:  func(_, _ *float64) { once.Do(func() { close(sized) }) },
			}, false)
			s.ready()
			if err := s.session.ToolInput(json.RawMessage(`{}`)); err != nil {
				t.Error(err)
			}
			if err := s.session.ToolResult(res); err != nil {
				t.Error(err)
			}
			s.await("the view to say its size", func() bool {
				select {
				case <-sized:
					return true
				default:
					return false
				}
			})
			raw, err := json.Marshal(res)
			if err != nil {
				t.Fatal(err)
			}
			drawn := "((r, text) => " + tt.drawn + ")(" + string(raw) + ", document.body.innerText)"
			inView[bool](s, "parent !== top && "+drawn, "true")
			if tt.calls != "" {
				s.await("the view to call "+tt.calls, func() bool {
					mu.Lock()
					defer mu.Unlock()
					return slices.Contains(approved, view.URI+" "+tt.calls)
				})
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := s.session.Close(ctx, "the end"); err != nil {
				t.Error(err)
			}
			if all := s.errors(); len(all) > 0 {
				t.Errorf("the console says %q", all)
			}
		})
	}
}
