package adapter

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A server over HTTP is rolled back and updated while a toolset uses it. Each call works and runs
// once, and the toolset follows the server's tools. The servers use the official SDK, which has its
// own errors for unknown revisions.
func TestServerThatChangesItsEra(t *testing.T) {
	for name, newServer := range map[string]func() *peer{"announces changes": newPeer, "does not": newSilentPeer} {
		for _, json := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", JSON", false: ", SSE"}[json], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { changeEras(t, newServer, json) })
			})
		}
	}
}

func changeEras(t *testing.T, newServer func() *peer, json bool) {
	var now atomic.Pointer[http.HandlerFunc]
	web := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load())(w, r) }))
	defer web.Close()
	stop := func() {}
	var ran atomic.Int32
	run := func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ran.Add(1)
		return echo(ctx, r)
	}
	become := func(tool string, modern bool) {
		s := newServer().tool("echo", object, run).tool(tool, object, echo)
		sessions := &sdk.StreamableHTTPOptions{Stateless: modern, JSONResponse: json}
		h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.Server }, sessions)
		serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if modern && r.Header.Get("Mcp-Protocol-Version") != mcp.Revision20260728 {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"v","data":{"supported":["2026-07-28"]}}}`)
				return
			}
			h.ServeHTTP(w, r)
		})
		now.Store(&serve)
		stop()
		stop = func() {
			for session := range s.Sessions() {
				_ = session.Close()
			}
		}
	}
	become("first", true)
	ts := open(t, nil, Server{Name: "s", Transport: &mcpclient.HTTP{URL: web.URL(), Client: web.Client()}})
	for i, tool := range []string{"second", "third", "fourth", "fifth"} {
		become(tool, i%2 == 1)
		r := callTool(t, ts, "echo", `{"x":1}`)
		check.That(t, r.Text == `{"x":1}` && int(ran.Load()) == i+1, "%s: got %q, %v; %d calls ran, want %d", tool, r.Text, r.Err, ran.Load(), i+1)
		time.Sleep(time.Minute)
		wantTools(t, ts, "echo", tool)
		status := ts.Servers()[0]
		if want := i%2 == 1; (status.Client.Server().Revision == mcp.Revision20260728) != want || status.Err != nil || status.Ended != nil {
			t.Errorf("%s: speaks %s, %v, %v", tool, status.Client.Server().Revision, status.Err, status.Ended)
		}
	}
	_ = ts.Close()
	stop()
}
